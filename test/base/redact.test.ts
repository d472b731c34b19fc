import { expect, test } from "bun:test";
import { redact, redactValue } from "../../src/base/redact.ts";

/** A made-up body of the given length, mixed letters and digits. */
const body = (length: number): string => "aB3dE5gH7jK9mN1pQ4sT6vW8xYz0".repeat(8).slice(0, length);

const removed: readonly (readonly [kind: string, text: string, secret: string])[] = [
  ["provider_key", `key: sk-proj-${body(20)}_${body(20)}`, body(20)],
  ["provider_key", `use sk-${"a".repeat(24)} here`, "a".repeat(24)],
  ["provider_key", `sk-or-v1-${body(30)}`, body(30)],
  ["provider_key", `sk-ant-api03-${body(20)}-AA`, body(20)],
  ["provider_key", `x=AIza${body(35)}`, body(35)],
  ["provider_key", `gsk_${body(24)}`, body(24)],
  ["provider_key", `xai-${body(24)}`, body(24)],
  ["github_token", `https://api?t=ghp_${body(36)}`, body(36)],
  ["github_token", `github_pat_${body(22)}_${body(20)}`, body(22)],
  ["gitlab_token", `glpat-${body(20)}`, body(20)],
  ["aws_key", "id AKIAABCDEFGHIJKLMNOP end", "ABCDEFGHIJKLMNOP"],
  ["slack_token", `xoxb-123456789012-${body(12)}`, body(12)],
  ["stripe_key", `sk_live_${body(16)}`, body(16)],
  ["npm_token", `npm_${body(36)}`, body(36)],
  ["jwt", `eyJ${body(12)}.eyJ${body(12)}.${body(12)}`, body(12)],
  ["pem", `-----BEGIN RSA PRIVATE KEY-----\n${body(64)}\n${body(10)}==\n-----END RSA PRIVATE KEY-----`, body(64)],
  ["pem", `{"private_key":"-----BEGIN PRIVATE KEY-----\\n${body(64)}\\n-----END PRIVATE KEY-----\\n"}`, body(64)],
  ["pem", `-----BEGIN OPENSSH PRIVATE KEY-----\n${body(64)}\n${body(30)}`, body(30)],
  ["pem", `${body(64)}\n${body(30)}==\n-----END EC PRIVATE KEY-----`, body(64)],
  ["pem", `1: -----BEGIN PRIVATE KEY-----\n2: ${body(64)}\n3: -----END PRIVATE KEY-----`, body(64)],
  ["authorization", "Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"],
  ["authorization", 'headers: { "Authorization": "Bearer abc.def-123" }', "abc.def-123"],
  ["authorization", "curl -H 'authorization: bearer quitelongword'", "quitelongword"],
  ["authorization", "Proxy-Authorization: Digest username=me, response=0123456789abcdef", "0123456789abcdef"],
  ["authorization", `sent Bearer ${body(20)} to it`, body(20)],
  ["url_password", "postgres://app:hunter2@db:5432/x", "hunter2"],
  ["url_password", "redis://:s3cret@h", "s3cret"],
  ["url_password", "https://u:p@ss:word@host/path", "p@ss:word"],
  ["url_password", "mysql://u:pa/ss@h/db", "pa/ss"],
  ["url_password", "a://h1,amqp://u:secretpw@h2", "secretpw"],
  ["secret", "DB_PASSWORD=hunter2", "hunter2"],
  ["secret", "export NPM_TOKEN=abc-def", "abc-def"],
  ["secret", "API_KEY='abcd1234'", "abcd1234"],
  ["secret", "?password=correcthorse&x=1", "correcthorse"],
  ["secret", '{"api_key": "abcd1234efgh"}', "abcd1234efgh"],
  ["secret", '{\\"api_key\\": \\"abcd1234efgh\\"}', "abcd1234efgh"],
  ["secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEK", "wJalrXUtnFEMI"],
  ["secret", "secret: s3cr3tvalue9", "s3cr3tvalue9"],
  ["secret", "deploy --token abcdef", "abcdef"],
  ["secret", "X-Api-Key: 12345abcde", "12345abcde"],
  ["secret", 'client_secret="foo#bar9"', "foo#bar9"],
  ["secret", "//registry/:_authToken=abcdef12345", "abcdef12345"],
  ["secret", "Server=db;User Id=sa;Password=Secret1;", "Secret1"],
  ["secret", 'password: "hunter2"', "hunter2"],
  ["cookie", "Cookie: session=abcdef1234567; other=1", "abcdef1234567"],
];
for (const [kind, text, secret] of removed) {
  test(`J09 J10 removed as ${kind}: ${text.slice(0, 40).replaceAll("\n", " ")}`, () => {
    const out = redact(text);
    expect(out).not.toContain(secret);
    expect(out).toContain(`[redacted:${kind}]`);
    expect(redact(out)).toBe(out);
  });
}

const survivors: readonly string[] = [
  "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
  "index 83db48f..bf269f4 100644",
  "550e8400-e29b-41d4-a716-446655440000",
  `e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.txt`,
  "xxh64:0123456789abcdef",
  '"integrity": "sha512-abcDEF0123456789+/abcdefghijkl=="',
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
  "The word password: in prose",
  "Enter your password: then press enter",
  "Your token is checked; the secret is safe.",
  "const token = getToken();",
  "const secret: string = readSecret(path);",
  "password = input.value",
  "this.token = token;",
  "connect(password=password, token=token)",
  "f(api_key=settings.api_key)",
  "api_key=os.environ['X']",
  "max_tokens=4096",
  "token_count: 12",
  "nextPageToken: 'abc'",
  "secret = None",
  "password: string;",
  "PASSWORD=$1",
  'token="$(cat f)"',
  "https://$USER:$PASS@host",
  "https://user@host/x",
  "http://localhost:3000/@scope/pkg",
  "git@github.com:a/b.git",
  "Authorization: required",
  "Authorization: Bearer <token>",
  "bearer of bad news",
  '<div class="sk-circle-fade-dot-12 sk-cubic-grid">',
  "task-runner-configuration-file and risk-assessment-overview",
  "if (text.includes('-----BEGIN PRIVATE KEY-----')) return;",
  `-----BEGIN CERTIFICATE-----\n${body(64)}\n-----END CERTIFICATE-----`,
  "cache_key = 'abc123'",
  "foreign_key: user_id",
];
for (const text of survivors) test(`J11 survives: ${text.slice(0, 50)}`, () => expect(redact(text)).toBe(text));

test("the exact credentials of this process go, in plain, percent-encoded and JSON-escaped form", () => {
  const secret = 'my"very/odd key';
  const exact = ["short", secret, "my-other-credential"];
  const text = `a ${secret} b ${encodeURIComponent(secret)} c ${JSON.stringify(secret)} d my-other-credential e short`;
  const out = redact(text, { exact });
  expect(out).toBe('a [redacted:credential] b [redacted:credential] c "[redacted:credential]" d [redacted:credential] e short');
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
  urls: "http://a:b",
  "url heads": "://",
  "pem heads": "-----BEGIN PRIVATE KEY-----",
  "pem bodies": "-----BEGIN PRIVATE KEY-----AAAAAAAAAAAAAAAAA",
  "pem ends": "-----END PRIVATE KEY-----",
  "open quotes": 'password="',
  "open escaped quotes": 'password=\\"',
  "rejected values": "password=(",
  "name anchors": "token_",
  headers: "authorization:",
  bearers: "Bearer ",
  cookies: "cookie: ",
  commas: "http://a,",
};
for (const [name, unit] of Object.entries(hostile)) {
  test(`linear time on 5 MB of ${name}`, () => {
    const text = unit.repeat(Math.ceil(5_000_000 / unit.length));
    const start = performance.now();
    redact(text);
    expect(performance.now() - start).toBeLessThan(8_000);
  });
}

test("linear time on 10 MB of spaces after a name", () => {
  const start = performance.now();
  redact(`password${" ".repeat(10_000_000)}`);
  expect(performance.now() - start).toBeLessThan(8_000);
});
