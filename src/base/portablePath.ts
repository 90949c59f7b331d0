// Windows opens a device for these names, whatever extension and spaces follow.
const deviceName = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)/i;

/**
 * Why a relative path does not name the same file on every system; undefined = it does. The rules of Windows count
 * everywhere, so that a catalogue or a graph that works on one system works on all.
 * @param path with slashes.
 */
export function findPathProblem(path: string): string | undefined {
  for (const segment of path.split('/')) {
    const reason = segmentProblem(segment);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function segmentProblem(segment: string): string | undefined {
  const name = JSON.stringify(segment);
  if (segment === '') return 'has an empty part: it must be relative, and "/" stands between two names';
  if (segment === '.' || segment === '..') return `has ${name} in it: it must not leave its folder`;
  const [forbidden] = /[\\:*?"<>|\p{Cc}]/u.exec(segment) ?? [];
  if (forbidden !== undefined) return `has ${JSON.stringify(forbidden)} in it, which no file name on Windows can have`;
  if (/[. ]$/.test(segment)) return `has ${name} in it: Windows drops a dot or space at the end of a name`;
  if (deviceName.test(segment)) return `has ${name} in it, which is a device on Windows`;
  return undefined;
}
