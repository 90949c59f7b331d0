import { Button } from '../ui/Button.tsx';
import { useDraft, type DraftStore, type VariableRow } from './draftStore.ts';

const priorities: readonly { readonly id: DraftStore['priority']; readonly label: string }[] = [
  { id: 'URGENT', label: 'urgent: goes first' },
  { id: 'NORMAL', label: 'normal' },
  { id: 'BACKGROUND', label: 'background: gives way to the others' },
];

/** The variables and the priority of the next message, and of those after it until they are changed. */
export function MessageOptionFields() {
  const { priority, setPriority } = useDraft();
  return (
    <div className="conversation-message-options">
      <VariableRows />
      <label className="conversation-priority">
        Priority
        <select value={priority} onChange={(event) => setPriority(event.target.value as DraftStore['priority'])}>
          {priorities.map(({ id, label }) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </select>
      </label>
    </div>
  );
}

function VariableRows() {
  const { variables, setVariables } = useDraft();
  const rows = variables.length === 0 ? [{ name: '', value: '' }] : variables;
  const change = (index: number, changed: Partial<VariableRow>): void =>
    setVariables(rows.map((row, at) => (at === index ? { ...row, ...changed } : row)));
  return (
    <fieldset className="conversation-variables">
      <legend>Variables</legend>
      {rows.map(({ name, value }, index) => (
        // A row is its place: nothing else of it stays the same.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className="conversation-variable">
          <input
            className="mono"
            aria-label={`Name of variable ${index + 1}`}
            placeholder="name"
            value={name}
            onChange={(event) => change(index, { name: event.target.value })}
          />
          <input
            aria-label={`Value of variable ${index + 1}`}
            placeholder="value"
            value={value}
            onChange={(event) => change(index, { value: event.target.value })}
          />
          <Button
            size="small"
            variant="quiet"
            icon="close"
            aria-label={`Remove variable ${index + 1}`}
            onClick={() => setVariables(rows.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button size="small" variant="quiet" icon="add" onClick={() => setVariables([...rows, { name: '', value: '' }])}>
        Add a variable
      </Button>
    </fieldset>
  );
}
