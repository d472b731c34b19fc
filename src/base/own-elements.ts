/**
 * The elements that thndrs puts round text for a model, and how foreign text inside them stays inside: every `<` that begins one
 * of these tags is written `&lt;`, all other markup stays as it is. Refuses: deciding what stands in an element.
 */

const OWN_TAGS =
  /<(?=\s*(?:\/\s*)?(?:source|project_context(?:_update)?|project_instructions|thndrs_self_knowledge(?:_update)?|skill(?:_reference|_content)?|available_skills|environment|conversation_summary)\b)/gi;

/** Text that can close or open none of our elements. */
export function escapeOwnTags(text: string): string {
  return text.replace(OWN_TAGS, "&lt;");
}

/** A value between double quotes. */
export function attribute(value: string): string {
  return value
    .replaceAll("&", "&amp;")
    .replaceAll('"', "&quot;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, (char) => `&#${char.charCodeAt(0)};`);
}
