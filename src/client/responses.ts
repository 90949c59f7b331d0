import { describeError, Fault, malformed } from '../protocol/fault.ts';
import type { ClientFrameBodies, CodeName, ServerFrame, ServerFrameBodies } from '../protocol/frames.gen.ts';
import { codes, responses } from '../protocol/frames.gen.ts';

/** The name of a request: its field in the `ClientFrame` of the proto. */
export type RequestName = keyof ClientFrameBodies;

/** The final response to a request. */
export type ResponseTo<Name extends RequestName> = ServerFrameBodies[(typeof responses)[Name]['final']];

/** The final response in a frame; undefined for the frames before it, such as progress and streamed text. */
export function finalResponse<Name extends RequestName>(asked: Name, frame: ServerFrame): ResponseTo<Name> | undefined {
  if (frame.body !== responses[asked].final) return undefined;
  if (frame.body === 'exportDialog' && frame.exportDialog.part < frame.exportDialog.of) return undefined;
  if (frame.body === 'searchStorage' && frame.searchStorage.part < frame.searchStorage.of) return undefined;
  if (frame.body === 'exportStorage' && frame.exportStorage.part < frame.exportStorage.of) return undefined;
  // TypeScript cannot correlate the body name with the field of that name.
  return (frame as unknown as Readonly<Record<string, ResponseTo<Name>>>)[frame.body];
}

/** JSON text in a field of the server. @throws Fault MALFORMED_MESSAGE with the place */
export function readJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw malformed(`the server sent ${place} that is no JSON: ${describeError(thrown)}`);
  }
}

/**
 * An error of the server as a Fault. A code that this client does not know becomes INTERNAL, with its name before the
 * message.
 */
export function toFault(error: { readonly name: string; readonly message: string; readonly detail?: string }): Fault {
  const { name, message, detail = '' } = error;
  if (Object.hasOwn(codes, name)) return new Fault(name as CodeName, message, { detail });
  return new Fault('INTERNAL', `${name}: ${message}`, { detail });
}
