/** The name of the node on which a pointer was released; undefined: none. */
export function nodeAt(event: MouseEvent | TouchEvent): string | undefined {
  const point = 'changedTouches' in event ? event.changedTouches[0] : event;
  if (!point) return undefined;
  const node = document.elementFromPoint(point.clientX, point.clientY)?.closest<HTMLElement>('[data-node]');
  return node?.dataset['node'];
}
