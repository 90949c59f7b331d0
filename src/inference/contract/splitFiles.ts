/** Matches the name of a split GGUF file (llama-gguf-split): the number of this file, and the number of files. */
export const splitSuffixPattern = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;

/** The file names of a split model, given the first of them; llama.cpp loads the others from the same folder. */
export function splitFileNames(name: string): readonly string[] {
  const [suffix, , count] = splitSuffixPattern.exec(name) ?? [];
  if (suffix === undefined || count === undefined) return [name];
  return Array.from({ length: Number(count) }, (_, index) =>
    name.replace(suffix, `-${String(index + 1).padStart(5, '0')}-of-${count}`),
  );
}
