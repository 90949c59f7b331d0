import { useDocument } from '../document/documentStore.ts';

/** The selected node as a form, and the graph as text. */
export function InspectorPanel() {
  const { text, setText, faults } = useDocument();
  return (
    <section className="inspector" aria-label="Graph file">
      <label>
        Text
        <textarea value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
      </label>
      <ul aria-label="Faults">
        {faults.map(({ pointer, message }) => (
          <li key={`${pointer} ${message}`}>{message}</li>
        ))}
      </ul>
    </section>
  );
}
