/** How the name of a GGUF file ends that is one of several parts: its number, and how many there are. */
export const splitSuffix = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;

/** The names of all parts of a file, which is named by its first one; llama.cpp finds the others beside it. */
export function splitFileNames(name: string): readonly string[] {
  const [mark, , count] = splitSuffix.exec(name) ?? [];
  if (mark === undefined || count === undefined) return [name];
  return Array.from({ length: Number(count) }, (_, index) =>
    name.replace(mark, `-${String(index + 1).padStart(5, '0')}-of-${count}`),
  );
}
