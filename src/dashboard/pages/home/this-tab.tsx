import { useEffect, useRef, useState } from 'preact/hooks';
import {
  connectTab,
  type TabClient,
  type TabEvent,
  type TabState,
} from '../../client/tab-client.ts';
import { Button } from '../../parts/controls.tsx';
import { preciseTime } from '../../parts/formats.ts';
import { Notice } from '../../parts/notices.tsx';
import { apps } from '../../shell/apps.ts';
import { sendDraft } from '../send/draft.ts';

/** The progress of this tab as a client. */
export interface Tab {
  readonly state?: TabState;
  /** Why it failed. */
  readonly why?: string;
}

interface ThisTabProps {
  readonly app: string;
  readonly tab: Tab;
  readonly setTab: (tab: Tab) => void;
  /** Gets the socket id of this tab. */
  readonly own: { current: string };
  readonly begin: (() => void) | undefined;
}

/** The first key of an app, empty until it is known. */
export const keyOf = (app: string) => apps.value?.find(({ id }) => id === app)?.keys[0]?.key ?? '';

/** Connects this tab to the app, and shows what it receives. */
export function ThisTab({ app, tab: { state, why }, setTab, own, begin }: ThisTabProps) {
  const key = keyOf(app);
  const [received, setReceived] = useState<readonly TabEvent[]>([]);
  const client = useRef<TabClient | undefined>(undefined);
  const { current: channel } = useRef(sendDraft.peek().channel);
  useEffect(() => () => client.current?.close(), []);
  const connect = () => {
    begin?.();
    setTab({ state: 'connecting' });
    client.current = connectTab(
      { key, channel },
      {
        subscribed: (socket) => {
          own.current = socket;
          setTab({ state: 'connected' });
        },
        onEvent: (event) => setReceived((before) => [event, ...before].slice(0, 5)),
        failed: (why) => setTab({ state: 'failed', why }),
      },
    );
  };
  return (
    <>
      <div class="line-of">
        <Button
          look={state === 'connected' ? '' : 'primary'}
          icon="connection"
          disabled={key === '' || state === 'connecting' || state === 'connected'}
          onClick={connect}
        >
          Connect this tab
        </Button>
        <span role="status" class="muted">
          {state === 'connecting' && 'Connecting …'}
          {state === 'connected' && (
            <>
              Connected as <span class="mono">{own.current}</span>, subscribed to {channel}.
            </>
          )}
        </span>
      </div>
      {state === 'failed' && <Notice level="bad">{why}</Notice>}
      {received.length > 0 && <Received events={received} />}
    </>
  );
}

function Received({ events }: { readonly events: readonly TabEvent[] }) {
  return (
    <dl class="received" aria-label="What this tab received">
      {events.map(({ event, data, atMs }) => (
        <>
          <dt class="muted mono">{preciseTime(atMs)}</dt>
          <dd>
            <strong>{event}</strong> <span class="mono">{data}</span>
          </dd>
        </>
      ))}
    </dl>
  );
}
