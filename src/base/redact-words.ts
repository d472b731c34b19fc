/**
 * What a value says about itself: a secret, a placeholder, an expression, a label.
 * Refuses: where values begin and end.
 */
/** Letters and digits mixed, or mixed case with symbols, eight or more: no word of prose, no identifier of one case. */
export function looksRandom(content: string): boolean {
  if (content.length < 6 || !/^[\x21-\x7e]+$/.test(content)) return false;
  const digit = /\d/.test(content);
  const letter = /[A-Za-z]/.test(content);
  return (digit && letter) || (content.length >= 8 && /[^A-Za-z0-9_.:/()[\]{}-]/.test(content) && (digit || letter));
}

export function isPlaceholder(content: string): boolean {
  return (
    /^(?:[$%<{(]|\\?\$|your[_-]|my[_-]|\*{2,}|x{3,}|\.{2,}|…|#\{|@\{|process\.env|os\.environ|env\.|import\.meta|null$|none$|nil$|true$|false$|undefined$|string$|str$|changeme$|example$|placeholder$|redacted|required$|optional$|bearer$|basic$)/i.test(
      content,
    ) || /^(.)\1*$/.test(content)
  );
}

/** A quoted name that names a thing instead of being one: `"token": "access_token"`, `secret: "db-password"`. */
function isWordyLabel(content: string): boolean {
  return (
    /^[A-Za-z_]+(?:[ .:/-][A-Za-z_]+)*$/.test(content) &&
    (/token|password|secret|key|credential|auth/i.test(content) || content.length < 6)
  );
}

/** An expression rather than a value: calls, member access, indexing, lower-case identifiers that end a statement. */
export function looksLikeCode(content: string, after: string): boolean {
  if (/[([{]/.test(content)) return true;
  if (/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)+$/.test(content)) return true;
  return /^[A-Za-z_$]+$/.test(content) && /[;,)\]}]/.test(after);
}

/** What stands between two ends that leave no doubt where it begins and ends. Several words are prose, or a label in some language. */
export function isSecretContent(content: string): boolean {
  return content.length >= 4 && !/^[\w-]*\s[\w\s-]*$/.test(content) && (looksRandom(content) || !isWordyLabel(content));
}
