import { matchingBranch, fieldForm } from './formModel.ts';
import type { FieldSchema } from '../document/graphTypes.ts';
import { ChoiceField } from './ChoiceField.tsx';
import type { FieldProps } from './fieldProps.ts';
import { JsonField } from './JsonField.tsx';
import { ListField } from './ListField.tsx';
import { NumberField } from './NumberField.tsx';
import { ObjectField } from './ObjectField.tsx';
import { TextField } from './TextField.tsx';

/** A field for a value that a schema describes. */
export function ValueField(props: FieldProps) {
  const { schema, value } = props;
  const form = fieldForm(schema, value);
  const branch = { ...props, schema: { ...matchingBranch(schema, value), ...live(schema) } };
  switch (form.kind) {
    case 'text':
      return <TextField {...branch} editor={form.editor} />;
    case 'any':
      return <TextField {...branch} editor="any" />;
    case 'number':
      return <NumberField {...branch} />;
    case 'choice':
      return <ChoiceField {...branch} values={form.values} />;
    case 'list':
      return <ListField {...branch} items={form.items} max={form.max} />;
    case 'object':
      return <ObjectField {...branch} />;
    case 'json':
      return <JsonField {...branch} />;
    default:
      return form satisfies never;
  }
}

const live = ({ 'x-live': isLive }: FieldSchema): FieldSchema => (isLive ? { 'x-live': true } : {});
