import { malformed } from './fault.ts';

/** Checks the times of a report. @throws Fault MALFORMED_MESSAGE for times that no frame can have. */
export function checkFrameTimes(ms: number, targetMs: number): void {
  if (!Number.isFinite(ms) || ms < 0)
    throw malformed(`reportFrame.ms must be a number of milliseconds from 0, not ${ms}; give how long a frame took`);
  if (!Number.isFinite(targetMs) || targetMs <= 0)
    throw malformed(`reportFrame.targetMs must be more than 0, not ${targetMs}; give how long a frame may take`);
}
