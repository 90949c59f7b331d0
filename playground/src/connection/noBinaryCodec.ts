/** Stands for `src/protocol/codec/binary.ts` in the page, which speaks JSON: protobuf would be a sixth of all its script. */
export const encodeBinary = (): never => refuse();

/** Never called: the page asks for the codec `json`. */
export const decodeBinary = (): never => refuse();

function refuse(): never {
  throw new Error('the playground has no codec for protobuf; connect with the codec "json"');
}
