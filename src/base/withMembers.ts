/** An object with some members of its own; all others are those of the target, as they are when they are read. */
export const withMembers = <Target extends object>(target: Target, members: Partial<Target>): Target =>
  new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(Object.hasOwn(members, name) ? members : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
