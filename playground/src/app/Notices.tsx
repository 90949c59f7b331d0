import { Button } from '../ui/Button.tsx';
import { Icon } from '../ui/Icon.tsx';
import { useNotices, type Notice } from './noticeStore.ts';

/** The messages of the page, in a corner: faults as alerts, notes as a status. */
export function Notices() {
  const { notices } = useNotices();
  const ofTone = (tone: Notice['tone']) =>
    notices.filter((notice) => notice.tone === tone).map((notice) => <NoticeItem key={notice.id} {...notice} />);
  return (
    <div className="app-notices">
      <div role="alert">{ofTone('fault')}</div>
      <div role="status" aria-label="Notes">
        {ofTone('note')}
      </div>
    </div>
  );
}

function NoticeItem({ id, tone, text }: Notice) {
  const dismiss = useNotices((store) => store.dismiss);
  return (
    <div className="app-notice" data-tone={tone}>
      <Icon name={tone === 'fault' ? 'alert' : 'check'} />
      <p>{text}</p>
      <Button variant="quiet" size="small" icon="close" aria-label="Dismiss" onClick={() => dismiss(id)} />
    </div>
  );
}
