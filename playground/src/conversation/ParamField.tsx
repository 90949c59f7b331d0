import { useId, useState, type KeyboardEvent } from 'react';
import { Button } from '../ui/Button.tsx';
import { useAgents } from './agentStore.ts';
import { currentValue, inputText, isChanged, readInput, valueAt, type LiveField } from './liveParams.ts';
import type { PageAgent } from './pageAgent.ts';

/** Properties of the field of a live parameter. */
export interface ParamFieldProps {
  readonly agent: PageAgent;
  readonly node: string;
  readonly field: LiveField;
  /** The parameters of the node in the graph, and those that were changed since. */
  readonly fromGraph: Readonly<Record<string, unknown>> | undefined;
  readonly changed: Readonly<Record<string, unknown>> | undefined;
}

/** The field of a live parameter. It is sent when the field is left, or by Enter; a refusal of the server stays at it. */
export function ParamField({ agent, node, field, fromGraph, changed }: ParamFieldProps) {
  const id = useId();
  const changeParam = useAgents((store) => store.changeParam);
  const { path, schema } = field;
  // Shown until the server has answered.
  const [pending, setPending] = useState<{ readonly value: unknown }>();
  const value = pending ? pending.value : currentValue(field, fromGraph, changed);
  const [draft, setDraft] = useState<string>();
  const [refusal, setRefusal] = useState<string>();
  const name = path.join('.');
  const disabled = agent.state !== 'ready' || agent.running !== undefined;

  const change = async (next: unknown): Promise<void> => {
    setPending({ value: next ?? schema.default });
    try {
      await changeParam(agent.key, node, path, next);
      setDraft(undefined);
      setRefusal(undefined);
    } catch (thrown) {
      setRefusal(thrown instanceof Error ? thrown.message : String(thrown));
    } finally {
      setPending(undefined);
    }
  };
  const commit = (): void => {
    if (draft === undefined) return;
    if (draft === inputText(value)) {
      setDraft(undefined);
      setRefusal(undefined);
      return;
    }
    try {
      void change(readInput(draft, schema));
    } catch (thrown) {
      setRefusal(thrown instanceof Error ? thrown.message : String(thrown));
    }
  };
  const reset = (): void => void change(valueAt(fromGraph, path) ?? null);
  const described = [schema.description && `${id}about`, refusal !== undefined && `${id}refusal`].filter(Boolean);
  const common = {
    id: `${id}input`,
    disabled,
    'aria-invalid': refusal !== undefined,
    'aria-describedby': described.join(' ') || undefined,
  };
  const typed = {
    ...common,
    value: draft ?? inputText(value),
    placeholder: placeholderOf(field),
    onBlur: commit,
    onKeyDown: (event: KeyboardEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      if (event.key === 'Enter' && (!isLong(field) || event.ctrlKey || event.metaKey)) commit();
      if (event.key === 'Escape' && draft !== undefined) {
        event.stopPropagation();
        setDraft(undefined);
        setRefusal(undefined);
      }
    },
  };
  return (
    <div className="turn-field" data-wide={isLong(field)}>
      <label htmlFor={common.id} title={schema.description}>
        {path.length > 1 && <span className="visually-hidden">{path[0]}.</span>}
        {path.at(-1)}
      </label>
      {schema.type === 'boolean' ? (
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onChange={(event) => void change(event.target.checked)}
        />
      ) : schema.enum ? (
        <select
          {...common}
          value={inputText(value)}
          onChange={(event) => void change(readInput(event.target.value, schema))}
        >
          {value === undefined && <option value="">default</option>}
          {schema.enum.map((choice) => (
            <option key={String(choice)}>{String(choice)}</option>
          ))}
        </select>
      ) : isLong(field) ? (
        <textarea
          {...typed}
          rows={2}
          className={schema.type === 'string' ? undefined : 'mono'}
          spellCheck={false}
          onChange={(event) => setDraft(event.target.value)}
        />
      ) : (
        <input
          {...typed}
          inputMode={isNumber(field) ? 'decimal' : undefined}
          onChange={(event) => setDraft(event.target.value)}
        />
      )}
      <Button
        size="small"
        variant="quiet"
        icon="undo"
        aria-label={`Reset ${name}`}
        disabled={disabled || (!isChanged(field, fromGraph, changed) && draft === undefined)}
        onClick={reset}
      />
      {schema.description !== undefined && (
        <span id={`${id}about`} className="visually-hidden">
          {schema.description}
        </span>
      )}
      {refusal !== undefined && (
        <p id={`${id}refusal`} className="conversation-issue">
          {refusal}
        </p>
      )}
    </div>
  );
}

const isNumber = ({ schema: { type } }: LiveField): boolean => type === 'number' || type === 'integer';

/** Whether the value may have several lines. */
const isLong = ({ schema: { type, enum: choices, 'x-editor': editor } }: LiveField): boolean =>
  editor === 'multiline' ||
  (choices === undefined && !['boolean', 'string', 'number', 'integer'].includes(String(type)));

const placeholderOf = ({ path: [param], schema: { default: byDefault } }: LiveField): string | undefined =>
  byDefault === undefined && param === 'sampling' ? "the model's" : undefined;
