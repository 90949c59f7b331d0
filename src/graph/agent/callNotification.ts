import { jsonBytes, maxPartBytes, takeFitting } from '../../protocol/frameSize.ts';
import type { ToolCallNotification } from '../../protocol/frames.gen.ts';
import type { Call } from '../compile/turn.ts';

// Bytes of the two copies of the arguments in one notification; its issues take another part, the other fields are small.
const maxCallBytes = 3 * maxPartBytes;

type CallPlace = Pick<ToolCallNotification, 'agentId' | 'turnId' | 'nodeName' | 'callIndex' | 'awaitsResult'>;

/**
 * The notification of a call, in one frame: issues that do not fit are left out.
 * @param warn is told of what is left out.
 * @returns undefined when the arguments do not fit.
 */
export function createCallNotification(
  call: Call,
  place: CallPlace,
  warn: (warning: string) => void,
): ToolCallNotification | undefined {
  const { nodeName } = place;
  const bytes = jsonBytes(call.flatArguments) + jsonBytes(call.typedArguments);
  if (bytes > maxCallBytes) {
    warn(
      `${nodeName} detected a call to ${call.name} whose arguments do not fit in a frame (${bytes} bytes): it is not sent`,
    );
    return undefined;
  }
  const issues = takeFitting(call.issues, maxPartBytes);
  if (issues.length < call.issues.length) {
    warn(
      `${nodeName} reports the first ${issues.length} of ${call.issues.length} issues of a call to ${call.name}; the others do not fit in a frame`,
    );
  }
  return {
    ...place,
    callId: call.id,
    toolName: call.name,
    argumentsJson: call.flatArguments,
    typedArgumentsJson: call.typedArguments,
    known: call.known,
    repaired: call.repaired,
    consequential: call.consequential,
    because: call.because,
    issues,
  };
}
