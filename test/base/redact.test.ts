import { expect, test } from "bun:test";
import { redact, redactValue } from "../../src/base/redact.ts";
import { REMOVED, SURVIVORS } from "./redact-corpus.ts";

for (const [kind, text, secret] of REMOVED) {
  test(`J09 J10 removed as ${kind}: ${text.slice(0, 40).replaceAll(/\s/g, " ")}`, () => {
    const out = redact(text);
    expect(out).not.toContain(secret);
    expect(out).toContain(`[redacted:${kind}]`);
    expect(redact(out)).toBe(out);
  });
}

for (const text of SURVIVORS) test(`J11 survives: ${text.slice(0, 50)}`, () => expect(redact(text)).toBe(text));

test("the exact credentials of this process go, in plain, percent-encoded and JSON-escaped form", () => {
  const secret = 'my"very/odd key';
  const exact = ["short", secret, "my-other-credential"];
  const text = `a ${secret} b ${encodeURIComponent(secret)} c ${JSON.stringify(secret)} d my-other-credential e short`;
  const out = redact(text, { exact });
  expect(out).toBe('a [redacted:credential] b [redacted:credential] c "[redacted:credential]" d [redacted:credential] e short');
});

test("a member called auth goes when it holds a login, not when it names a kind", () => {
  const value = { auth: "dXNlcjpwYXNzd29yZA==", more: [{ auth: "basic" }] };
  expect(redactValue(value, redact)).toEqual({ auth: "[redacted:registry_login]", more: [{ auth: "basic" }] });
});

test("a replacement pattern in the text is inert", () => {
  expect(redact("$& $1 DB_PASSWORD=hunter2 $&")).toBe("$& $1 DB_PASSWORD=[redacted:secret] $&");
});

test("JSON stays valid: values under secret names, argv after secret flags, nested strings, odd keys", () => {
  const value = JSON.parse(
    '{"argv":["curl","--password","hunter2","-H","Authorization: Bearer sk-test-AAAA9999"],"env":{"API_KEY":"x1y2","PATH":"/bin"},"token":"abc12345","max_tokens":"12","note":"password: hi","n":5,"z":null,"list":[[{"clientSecret":"q9w8e7"}]],"__proto__":{"a":1}}',
  );
  const out = redactValue(value, (text) => redact(text));
  expect(JSON.parse(JSON.stringify(out))).toEqual(
    JSON.parse(
      '{"argv":["curl","--password","[redacted:secret]","-H","Authorization: Bearer [redacted:provider_key]"],"env":{"API_KEY":"[redacted:secret]","PATH":"/bin"},"token":"[redacted:secret]","max_tokens":"12","note":"password: hi","n":5,"z":null,"list":[[{"clientSecret":"[redacted:secret]"}]],"__proto__":{"a":1}}',
    ),
  );
  expect(Object.getPrototypeOf(out)).toBe(Object.prototype);
});

test("JSON text that went through redaction still parses", () => {
  const text = JSON.stringify({
    password: "hunter2!",
    url: "postgres://a:b@c",
    nested: JSON.stringify({ api_key: "abcd1234" }),
    n: 1,
  });
  const out = redact(text);
  expect(JSON.parse(out)).toMatchObject({ password: "[redacted:secret]", n: 1 });
  expect(out).not.toContain("abcd1234");
});

// Inputs that make careless patterns quadratic. Megabytes each: linear time is well under the limit, quadratic is minutes.
const hostile: Readonly<Record<string, string>> = {
  "one letter": "a",
  "dotted names": "a.",
  "jwt heads": "eyJ",
  "jwt segments": "eyJaaaaaaaa.",
  "sk heads": "sk-",
  "long sk heads": "sk-ant-",
  urls: "http://a:b",
  "url heads": "://",
  "pem heads": "-----BEGIN PRIVATE KEY-----",
  "pem bodies": "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAA",
  "pem ends": "-----END PRIVATE KEY-----",
  "open quotes": 'password="',
  "open escaped quotes": 'password=\\"',
  "rejected values": "password=(",
  "name anchors": "token_",
  "registry logins": '"auth":"aaaa',
  headers: "authorization:",
  bearers: "Bearer ",
  cookies: "cookie: ",
  commas: "http://a,",
  "settings of a line": "\npassword: a b",
  "connection strings": ";password=a b",
  "open connection strings": ";password=a ",
  "open quotes with words": 'password: "a b ',
  logins: "machine a login b password ",
  "names without a sign": "machine password ",
  elements: "<password>",
  "indented names": `\n${" ".repeat(79)}password: a`,
};
for (const [name, unit] of Object.entries(hostile)) {
  test(`linear time on 10 MB of ${name}`, () => {
    const text = unit.repeat(Math.ceil(10_000_000 / unit.length));
    const start = performance.now();
    redact(text);
    expect(performance.now() - start).toBeLessThan(25_000);
  });
}

// Each of them is a secret or a label at a glance; a pattern that can divide its words in many ways tries them all (2^60 here).
test("values that nearly are labels are judged at once", () => {
  for (const value of [
    "_".repeat(60),
    "a_".repeat(60),
    "_a ".repeat(40),
    "a.b-".repeat(60),
    "!".repeat(60_000),
    `a${"?".repeat(60_000)}`,
  ])
    for (const end of ["", "!", "1", "é", "\n"])
      for (const text of [`{"password": "${value}${end}"}`, `token: '${value}${end}'`, `SECRET="${value}${end}"`]) redact(text);
  redact(`SECRET="${"\n ".repeat(200_000)}"`);
});

test("linear time on 10 MB of spaces after a name", () => {
  const start = performance.now();
  redact(`password${" ".repeat(10_000_000)}`);
  expect(performance.now() - start).toBeLessThan(25_000);
});

test("quoted values of a .env file: several words, several lines, a quote that is never closed", () => {
  const cases: readonly (readonly [string, string])[] = [
    ['DB_PASSWORD="correct horse battery staple"', 'DB_PASSWORD="[redacted:secret]"'],
    ['export API_SECRET="abc 123 def 456"\nX=1', 'export API_SECRET="[redacted:secret]"\nX=1'],
    ["MULTI_KEY='line1secretAA\nline2secretBB'\nNEXT=1", "MULTI_KEY='[redacted:secret]'\nNEXT=1"],
    ["SECRET_KEY='line1secretAA", "SECRET_KEY='[redacted:secret]"],
    ["A_SECRET='open value here\nB=it's\nC=2", "A_SECRET='[redacted:secret]\nB=it's\nC=2"],
    ['PASSWORD="$PASS"', 'PASSWORD="$PASS"'],
    ['API_KEY=""', 'API_KEY=""'],
    ['{"password": "Enter your new password"}', '{"password": "Enter your new password"}'],
  ];
  for (const [text, expected] of cases) expect(redact(text)).toBe(expected);
});
