/** What a node has derived from its parameters: templates, patterns; derived anew when they change. */
export interface LiveParams<Params, Derived> {
  readonly current: Derived;
  /** The node's `change`. @throws what deriving throws, and then nothing has changed. */
  change(params: Params): Promise<void>;
}

/** Derives a first time, and again for every change. */
export async function liveParams<Params, Derived>(
  params: Params,
  derive: (params: Params) => Derived | Promise<Derived>,
): Promise<LiveParams<Params, Derived>> {
  let now = await derive(params);
  return {
    get current() {
      return now;
    },
    async change(changed) {
      now = await derive(changed);
    },
  };
}
