import { useId, useState } from 'react';
import { Button } from '../ui/Button.tsx';
import { Dialog } from '../ui/Dialog.tsx';
import { hasToken, useConnection, type ConnectionStatus } from './connectionStore.ts';

/** Asks for the token of the server, where it wants one. */
export function TokenDialog() {
  const { status, open } = useConnection();
  const id = useId();
  const [token, setToken] = useState('');
  const [dismissed, setDismissed] = useState<ConnectionStatus>();
  if (status.state !== 'unauthorized' || dismissed === status) return undefined;
  return (
    <Dialog
      title="Token"
      onClose={() => setDismissed(status)}
      foot={
        <Button type="submit" form={id} variant="primary" disabled={token === ''}>
          Connect
        </Button>
      }
    >
      <form
        id={id}
        className="connection-form"
        onSubmit={(event) => {
          event.preventDefault();
          void open(token);
        }}
      >
        <p>The server was started with a token. It is kept until this tab is closed.</p>
        <label>
          <span>Token</span>
          <input
            type="password"
            autoComplete="current-password"
            value={token}
            aria-invalid={hasToken()}
            aria-describedby={`${id}reason`}
            onChange={(event) => setToken(event.target.value)}
          />
        </label>
        <p id={`${id}reason`} className="connection-reason" role="alert">
          {hasToken() && `The server refuses the token that was given. It says: ${status.reason}`}
        </p>
      </form>
    </Dialog>
  );
}
