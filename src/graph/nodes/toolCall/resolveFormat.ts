import { didYouMean } from '../../../base/didYouMean.ts';
import { InvalidParams } from '../../compile/node.ts';
import type { ModelLease } from '../../../inference/models/pool/lease.ts';
import { chooseFormat } from '../../../chat/formats/chooseFormat.ts';
import type { Formats } from '../../../chat/formats/index.ts';
import { dialectWarning, formatsOf } from '../../../chat/dialect/dialectFormats.ts';
import { nativeFormatName } from '../../../chat/dialect/nativeFormat.ts';
import type { ToolCallFormat } from '../../../chat/tool.ts';

/** The tool-call format of a node, and why it was chosen. */
export interface ResolvedFormat {
  readonly format: ToolCallFormat;
  readonly reason: string;
  /** "" = none. */
  readonly warning: string;
}

/** Resolves the format: the node's, else the catalogue's, else the one that the model proves. @throws InvalidParams */
export function resolveFormat(named: string, { model, toolCallFormat }: ModelLease, formats: Formats): ResolvedFormat {
  const { toolDialect } = model;
  const { format: detected = '', because } = toolDialect;
  const { name, reason } = chooseFormat({ node: named, catalogue: toolCallFormat, detected, because });
  const available = formatsOf(toolDialect, formats);
  const format = available.get(name);
  if (!format) {
    const known = `there are ${[...available.keys()].join(', ')}${didYouMean(name, available.keys())}`;
    const message =
      name === nativeFormatName
        ? `cannot be native (${reason}), for the model has no layout of its own: ${because}; name another format, or none`
        : `is no format: "${name}" (${reason}); ${known}`;
    throw new InvalidParams([{ pointer: '/tool_call_format', message }]);
  }
  const contradicts = named !== '' && detected !== '' && named !== detected && named !== nativeFormatName;
  const isDefault = named === '' && toolCallFormat === '';
  const warning = contradicts
    ? `is ${named}, but the model was trained on ${detected}: expect fewer and worse calls`
    : isDefault && dialectWarning(toolDialect) !== ''
      ? `is ${name} by default: ${dialectWarning(toolDialect)}`
      : '';
  return { format, reason, warning };
}
