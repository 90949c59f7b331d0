import { RangeSet, StateEffect, StateField, type Extension } from '@codemirror/state';
import { Decoration, EditorView, gutter, GutterMarker, type DecorationSet } from '@codemirror/view';

/** A fault at its place in the text. */
export interface FaultMark {
  readonly from: number;
  readonly to: number;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** Replaces all marks of faults. */
export const setFaultMarks = StateEffect.define<readonly FaultMark[]>();

class FaultMarker extends GutterMarker {
  readonly #mark: FaultMark;

  constructor(mark: FaultMark) {
    super();
    this.#mark = mark;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = 'inspector-mark';
    element.dataset['severity'] = this.#mark.severity;
    element.title = this.#mark.message;
    element.textContent = '●';
    return element;
  }
}

interface Marks {
  readonly ranges: DecorationSet;
  readonly gutter: RangeSet<GutterMarker>;
}

const marksField = StateField.define<Marks>({
  create: () => ({ ranges: Decoration.none, gutter: RangeSet.empty }),
  update(marks, transaction) {
    const effect = transaction.effects.find((candidate) => candidate.is(setFaultMarks));
    if (!effect) return transaction.docChanged ? mapped(marks, transaction.changes) : marks;
    const faults = effect.value as readonly FaultMark[];
    const inText = faults.filter(({ from, to }) => to > from);
    return {
      ranges: Decoration.set(
        inText.map((fault) => decoration(fault).range(fault.from, fault.to)),
        true,
      ),
      gutter: RangeSet.of(
        faults.map((fault) => new FaultMarker(fault).range(transaction.state.doc.lineAt(fault.from).from)),
        true,
      ),
    };
  },
  provide: (field) => EditorView.decorations.from(field, ({ ranges }) => ranges),
});

const mapped = ({ ranges, gutter: markers }: Marks, changes: Parameters<DecorationSet['map']>[0]): Marks => ({
  ranges: ranges.map(changes),
  gutter: markers.map(changes),
});

const decoration = ({ message, severity }: FaultMark): Decoration =>
  Decoration.mark({ class: 'inspector-underlined', attributes: { 'data-severity': severity, title: message } });

/** Marks faults at their place in the text, and at the line. */
export const faultMarks: Extension = [
  marksField,
  gutter({ class: 'inspector-mark-gutter', markers: (view) => view.state.field(marksField).gutter }),
];
