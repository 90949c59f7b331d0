import { useModels } from './modelStore.ts';
import { isChatModel, isOnDisk } from './preferredModel.ts';

/** Properties of a choice of models. */
export interface ModelSelectProps {
  readonly value: string;
  readonly onChange: (name: string) => void;
  /** The label of the choice of no model. */
  readonly emptyLabel: string;
}

/** A choice of the server's chat models: those on disk, then those that must be downloaded first. Put it into a label. */
export function ModelSelect({ value, onChange, emptyLabel }: ModelSelectProps) {
  const models = useModels((store) => store.models).filter(isChatModel);
  const options = (areOnDisk: boolean) =>
    models.filter((model) => isOnDisk(model) === areOnDisk).map(({ name }) => <option key={name}>{name}</option>);
  const isUnknown = value !== '' && !models.some(({ name }) => name === value);
  return (
    <select value={value} onChange={(event) => onChange(event.target.value)}>
      <option value="">{emptyLabel}</option>
      {isUnknown && <option>{value}</option>}
      <optgroup label="On disk">{options(true)}</optgroup>
      <optgroup label="Not on disk: download first">{options(false)}</optgroup>
    </select>
  );
}
