/** Settings that a node derives from its live parameters, such as compiled templates; derived again after each change. */
export interface LiveParams<Params, Derived> {
  readonly current: Derived;
  /** The `change` of a node. @throws the error of `derive`; then nothing has changed. */
  change(params: Params): Promise<void>;
}

/** Derives settings from parameters now and after each change. @throws the error of `derive`. */
export async function liveParams<Params, Derived>(
  params: Params,
  derive: (params: Params) => Derived | Promise<Derived>,
): Promise<LiveParams<Params, Derived>> {
  let current = await derive(params);
  return {
    get current() {
      return current;
    },
    async change(changed) {
      current = await derive(changed);
    },
  };
}
