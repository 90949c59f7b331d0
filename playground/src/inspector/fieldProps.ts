import type { JSONPath } from 'jsonc-parser';
import { createContext, type ComponentType } from 'react';
import type { FieldSchema } from '../document/graphTypes.ts';

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

/** The component for a field of any kind, for fields that contain fields: they cannot import it without a cycle. */
export const AnyField = createContext<ComponentType<FieldProps>>(() => null);
