/** A text with code between backticks, as descriptions of the schema have it. */
export function CodeText({ text }: { readonly text: string }) {
  return text.split('`').map((part, index) =>
    // Every second part is between backticks; the parts never change places.
    // oxlint-disable-next-line react/no-array-index-key
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  );
}
