import { Component, type ReactNode } from 'react';
import { useDocument } from '../document/documentStore.ts';
import { Button } from '../ui/Button.tsx';
import { CopyButton } from '../ui/CopyButton.tsx';
import { saveDocument } from './documentActions.ts';

interface BoundaryState {
  readonly error: Error | undefined;
}

/** Shows an error of the page itself, and keeps the text of the graph where it can be copied and saved. */
export class ErrorBoundary extends Component<{ readonly children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { error: undefined };

  static getDerivedStateFromError(thrown: unknown): BoundaryState {
    return { error: thrown instanceof Error ? thrown : new Error(String(thrown)) };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    const { text } = useDocument.getState();
    return (
      <main className="app-crash">
        <h1>The page has stopped</h1>
        <p role="alert">An error of the page itself: {error.message}</p>
        <p>The text of the graph is complete below. It is kept in this tab, too: load the page again to go on.</p>
        <div className="app-crash-actions">
          <Button variant="primary" onClick={() => location.reload()}>
            Load the page again
          </Button>
          <Button onClick={saveDocument}>Save</Button>
          <CopyButton text={text}>Copy text</CopyButton>
        </div>
        <textarea aria-label="Graph file text" readOnly spellCheck={false} value={text} />
        <details>
          <summary>Details of the error</summary>
          <pre>{error.stack}</pre>
        </details>
      </main>
    );
  }
}
