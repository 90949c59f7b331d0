import { totalMemory, type LoadPlan, type MemoryUse } from '../../inference/contract/memory.ts';
import { formatBytes } from '../../base/units.ts';

/** What a model is going to take, in one line. */
export function memoryLine(name: string, plan: LoadPlan): string {
  const { weights, context, slots, contextSize } = plan;
  const tokens = contextSize.toLocaleString('en-GB');
  const contextText = `${formatMemory(context)} for ${slots} slot${slots === 1 ? '' : 's'} of ${tokens} tokens`;
  const rest = `${formatMemory(weights)} of weights`;
  return `${name} needs about ${formatMemory(totalMemory(plan))}: ${rest}, ${contextText}`;
}

/** Formats RAM, and memory of a graphics card where some is used. */
export const formatMemory = ({ ram, vram }: MemoryUse): string =>
  vram > 0 ? `${formatBytes(ram, 1)}, ${formatBytes(vram, 1)} on the graphics card` : formatBytes(ram, 1);
