import type { JSONPath } from 'jsonc-parser';
import { useDocument } from '../document/documentStore.ts';
import type { FieldSchema } from '../document/graphTypes.ts';
import { Button } from '../ui/Button.tsx';
import { commitSwap, commitValue } from './commitValue.ts';

/** An entry of a list. */
export interface EntryProps {
  readonly list: JSONPath;
  readonly index: number;
  /** How many entries the list has. */
  readonly count: number;
  /** The word for one entry, such as `tool`. */
  readonly name: string;
  readonly schema: FieldSchema;
  readonly value: unknown;
}

/** Buttons that move and remove an entry of a list. */
export function EntryActions({ list, index, count, name }: EntryProps) {
  const isEditable = useDocument((store) => store.isEditable);
  const place = `${name} ${index + 1}`;
  return (
    <span className="inspector-entry-actions">
      <Button
        variant="quiet"
        size="small"
        className="inspector-up"
        icon="chevronDown"
        aria-label={`Move ${place} up`}
        disabled={!isEditable || index === 0}
        onClick={() => commitSwap(list, index, index - 1)}
      />
      <Button
        variant="quiet"
        size="small"
        icon="chevronDown"
        aria-label={`Move ${place} down`}
        disabled={!isEditable || index === count - 1}
        onClick={() => commitSwap(list, index, index + 1)}
      />
      <Button
        variant="quiet"
        size="small"
        icon="close"
        aria-label={`Remove ${place}`}
        disabled={!isEditable}
        onClick={() => commitValue([...list, index], undefined)}
      />
    </span>
  );
}
