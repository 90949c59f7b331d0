/** A command that was called wrongly: its sentence goes to standard error, and the exit code is 2. */
export class UsageError extends Error {}
