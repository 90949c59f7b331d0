/** The index to which a key moves from another one in a list that goes round; undefined: it is no such key. */
export function nextIndex(key: string, index: number, length: number): number | undefined {
  if (length === 0) return undefined;
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return (index + 1) % length;
    case 'ArrowLeft':
    case 'ArrowUp':
      return (Math.max(index, 0) - 1 + length) % length;
    case 'Home':
      return 0;
    case 'End':
      return length - 1;
    default:
      return undefined;
  }
}
