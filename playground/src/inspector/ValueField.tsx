import type { JSONPath } from 'jsonc-parser';
import { matchingBranch, fieldForm } from './formModel.ts';
import type { FieldSchema } from '../document/graphTypes.ts';
import { ChoiceField } from './ChoiceField.tsx';
import { JsonField } from './JsonField.tsx';
import { ListField } from './ListField.tsx';
import { NumberField } from './NumberField.tsx';
import { ObjectField } from './ObjectField.tsx';
import { TextField } from './TextField.tsx';

/** Properties of a field of any kind. */
export interface FieldProps {
  /** The name of the parameter or member. */
  readonly name: string;
  readonly path: JSONPath;
  readonly schema: FieldSchema;
  /** Undefined: it is not in the document. */
  readonly value: unknown;
  readonly required?: boolean;
}

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
