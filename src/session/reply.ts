import type { ServerFrameBodies } from '../frames.gen.ts';

/** Sends one frame of the answer to a request. */
export type Reply = <K extends keyof ServerFrameBodies>(body: K, frame: ServerFrameBodies[K]) => void;
