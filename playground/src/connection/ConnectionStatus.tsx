import { useEffect, useRef } from 'react';
import { useNotices } from '../app/noticeStore.ts';
import { Button } from '../ui/Button.tsx';
import { useConnection, type ConnectionStatus as Status } from './connectionStore.ts';
import './connection.css';

/** The state of the connection, and a button where the page does not connect by itself. */
export function ConnectionStatus() {
  const { status, resumes, open } = useConnection();
  const told = useRef(resumes);
  useEffect(() => {
    if (resumes === told.current) return;
    told.current = resumes;
    useNotices
      .getState()
      .notify('note', 'The connection had dropped and is back: the session was resumed, nothing was lost.');
  }, [resumes]);
  const text = textOf(status);
  const isEnded = status.state === 'closed' || status.state === 'unauthorized';
  return (
    <div className="connection-status" data-state={status.state}>
      <output aria-label="Connection" title={text}>
        {text}
      </output>
      {isEnded && (
        <Button size="small" icon="restart" onClick={() => void open()}>
          Connect again
        </Button>
      )}
    </div>
  );
}

function textOf(status: Status): string {
  switch (status.state) {
    case 'reconnecting':
      return `reconnecting (attempt ${status.attempt})`;
    case 'closed':
      return `closed: ${status.reason || 'the server ended the connection'}`;
    case 'unauthorized':
      return 'a token is needed';
    default:
      return status.state;
  }
}
