import { lazy, Suspense, useEffect, useRef } from 'react';
import { useConnection } from '../connection/connectionStore.ts';
import { useDocument } from '../document/documentStore.ts';
import { useFocus, type FileView } from '../document/focusStore.ts';
import { useTypes } from '../document/typesStore.ts';
import { Tabs } from '../ui/Tabs.tsx';
import { FaultList } from './FaultList.tsx';
import { focusField } from './focusField.ts';
import { GraphForm } from './GraphForm.tsx';
import { ModelNames } from './ModelNames.tsx';
import { AnyField } from './fieldProps.ts';
import { ValueField } from './ValueField.tsx';
import { NodeForm } from './NodeForm.tsx';
import './inspector.css';

const TextView = lazy(async () => ({ default: (await import('./TextView.tsx')).TextView }));

/** The selected node as a form, the graph as text, and its faults. */
export function InspectorPanel() {
  const faults = useDocument((store) => store.faults);
  const { view, show } = useFocus();
  const isConnected = useConnection(({ status }) => status.state === 'connected');
  const load = useTypes((store) => store.load);
  useEffect(() => {
    if (isConnected) void load();
  }, [isConnected, load]);
  const tone = faults.some(({ severity }) => severity === 'error') ? ('error' as const) : undefined;
  return (
    <section className="inspector" aria-label="Graph file">
      <ModelNames />
      <Tabs
        label="Graph file"
        tabs={[
          { id: 'node', label: 'Node' },
          { id: 'text', label: 'Text' },
          {
            id: 'faults',
            label: 'Faults',
            badge: faults.length > 0 ? { text: String(faults.length), tone } : undefined,
          },
        ]}
        selected={view}
        onSelect={(id) => show(id as FileView)}
      >
        {view === 'node' && <Form />}
        {view === 'text' && (
          <Suspense fallback={<p className="inspector-empty">Loading the editor …</p>}>
            <TextView />
          </Suspense>
        )}
        {view === 'faults' && <FaultList />}
      </Tabs>
    </section>
  );
}

function Form() {
  const { graph, selected, isEditable, faults } = useDocument();
  const { request, done, reveal } = useFocus();
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (form.current?.parentElement) form.current.parentElement.scrollTop = 0;
  }, [selected]);
  useEffect(() => {
    if (!request) return undefined;
    // A narrow page shows the panel first.
    const timer = setTimeout(() => {
      if (form.current && focusField(form.current, request.pointer)) done();
    });
    return () => clearTimeout(timer);
  }, [request, done]);
  if (!graph) return <p className="inspector-empty">No graph is open.</p>;
  const node = selected === undefined ? undefined : graph.nodes[selected];
  return (
    <div className="inspector-form" ref={form}>
      {!isEditable && (
        <p className="inspector-readonly" role="status">
          The forms cannot be edited: {faults[0]?.message ?? 'the text is no JSON object'}.{' '}
          <button type="button" onClick={() => reveal('', 'text')}>
            Go to the text
          </button>
        </p>
      )}
      <AnyField value={ValueField}>
        {node && selected !== undefined ? <NodeForm name={selected} node={node} /> : <GraphForm />}
      </AnyField>
    </div>
  );
}
