/**
 * The id of a node or an exit for React Flow: its name without the characters that end a string of a selector, since React
 * Flow writes ids into selectors.
 */
export const flowId = (name: string): string =>
  name.replaceAll(/["\\%\n\r\f]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** The name that an id was made of. */
export const nameOfFlowId = (id: string): string =>
  id.replaceAll(/%([\da-f]{2})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)));
