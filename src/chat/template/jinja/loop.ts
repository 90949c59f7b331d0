import type { StepBudget } from './stepBudget.ts';
import { areEqual } from './operations/operators.ts';
import { orUndefined } from './values/coercion.ts';
import { Callable, Loop, Tuple, type Value } from './values/values.ts';

interface LoopContext {
  readonly budget: StepBudget;
  /** Remembers the arguments of `changed`; returns those before. */
  readonly noteChange: (value: Value) => Value | undefined;
  readonly recurse: Loop['recurse'];
}

/** The variable `loop` in one iteration of a loop over some items. */
export function createLoop(items: readonly Value[], index: number, depth: number, context: LoopContext): Loop {
  const attribute = (name: string): Value | undefined => {
    switch (name) {
      case 'index':
        return index + 1;
      case 'index0':
        return index;
      case 'revindex':
        return items.length - index;
      case 'revindex0':
        return items.length - index - 1;
      case 'first':
        return index === 0;
      case 'last':
        return index === items.length - 1;
      case 'length':
        return items.length;
      case 'depth':
        return depth + 1;
      case 'depth0':
        return depth;
      case 'previtem':
        return orUndefined(items[index - 1], 'there is no previous item');
      case 'nextitem':
        return orUndefined(items[index + 1], 'there is no next item');
      case 'cycle':
        return new Callable(name, ({ positional }) => {
          const item = positional[index % positional.length];
          if (item === undefined) throw new Error('no items for cycling given');
          return item;
        });
      case 'changed':
        return new Callable(name, ({ positional }) => {
          const previous = context.noteChange(new Tuple(positional));
          return previous === undefined || !areEqual(previous, new Tuple(positional), context.budget);
        });
      default:
        return undefined;
    }
  };
  return new Loop(attribute, context.recurse);
}
