import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { channelsAddress, serverFacts } from '../../api/server-facts.ts';
import { may } from '../../api/session.ts';
import { readTextFile } from '../../api/text-file.ts';
import { attempt } from '../../api/use-attempt.ts';
import { LiveFeed } from '../../live/live-feed.ts';
import { groupsIn } from '../../live/records.ts';
import { appSubject } from '../../live/subject.ts';
import { Code } from '../../parts/code.tsx';
import { Button, Tabs } from '../../parts/controls.tsx';
import { Icon } from '../../parts/icons.tsx';
import { sayWhy } from '../../parts/toasts.tsx';
import { sendDraft } from '../send/draft.ts';
import { SendForm } from '../send/send-form.tsx';
import { filled, type Snippets as SnippetsOf, snippetsIn } from './snippets.ts';
import snippetsFile from './snippets.txt' with { type: 'file' };
import { keyOf, type Tab, ThisTab } from './this-tab.tsx';

/** The snippets, once they are read. */
const snippetsRead = signal<SnippetsOf>();

async function readSnippets(): Promise<void> {
  snippetsRead.value ??= snippetsIn(await readTextFile(snippetsFile));
}

const HIDDEN_SECRET = 'YOUR-SECRET';

/** From nothing to the first event: paste or press, send, see it arrive. The steps tick themselves. */
export function FirstSteps({
  app,
  title,
  begin,
}: {
  readonly app: string;
  readonly title: string;
  /** Called with the first thing that happens. */
  readonly begin?: () => void;
}) {
  const [tab, setTab] = useState<Tab>({});
  // A ref, because the first record of this tab may come before the next rendering.
  const own = useRef('');
  const hasOther = useOtherClient({ app, own, begin });
  const [isSent, setSent] = useState(false);
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="muted small">Three steps, two minutes. Each ticks itself.</span>
      </header>
      <ol class="steps">
        <Step number={1} isDone={hasOther} title="Paste this into a page or an app">
          <Snippets app={app} of="client" secret={HIDDEN_SECRET} />
        </Step>
        <Step number={2} isDone={tab.state === 'connected'} title="Or connect this browser tab now">
          <ThisTab {...{ app, tab, setTab, own, begin }} />
        </Step>
        <Step number={3} isDone={isSent} title="Send an event">
          <SendForm
            app={app}
            sent={({ channels }) => {
              if (channels.some(({ receivers }) => receivers > 0)) setSent(true);
            }}
          />
          <BackendCode app={app} />
        </Step>
      </ol>
    </section>
  );
}

/** Whether another client has subscribed to a channel since the page was opened. */
function useOtherClient({
  app,
  own,
  begin,
}: {
  readonly app: string;
  /** The socket id of this tab. */
  readonly own: { readonly current: string };
  readonly begin: (() => void) | undefined;
}): boolean {
  const [hasOther, setHasOther] = useState(false);
  const feed = useMemo(() => {
    const all = { channel: '', socket: '', user: '', text: '' };
    return new LiveFeed(appSubject(app), { groups: groupsIn('subscription'), ...all });
  }, [app]);
  useEffect(() => {
    const forget = feed.onRecord(({ kind, socket }) => {
      if (kind !== 'subscribed' || socket === own.current) return;
      setHasOther(true);
      begin?.();
    });
    const stop = feed.start();
    return () => {
      forget();
      stop();
    };
  }, [feed, own, begin]);
  return hasOther;
}

function Step({
  number,
  isDone,
  title,
  children,
}: {
  readonly number: number;
  readonly isDone: boolean;
  readonly title: string;
  readonly children: ComponentChildren;
}) {
  return (
    <li class={isDone ? 'done' : ''}>
      <span class="mark">
        {isDone ? <Icon name="check" /> : number}
        {isDone && <span class="unseen">Done</span>}
      </span>
      <div>
        <h2>{title}</h2>
        {children}
      </div>
    </li>
  );
}

/** The code of a backend that sends an event. The secret is shown on a click only. */
function BackendCode({ app }: { readonly app: string }) {
  const [secret, setSecret] = useState(HIDDEN_SECRET);
  const show = async () => {
    const { keys } = await call('GET /apps/{id}', {
      path: { id: app },
      query: { secrets: 'true' },
    });
    setSecret(keys[0]?.secret ?? HIDDEN_SECRET);
  };
  return (
    <div class="stack tight">
      <div class="line-of">
        <h3>Or from your backend</h3>
        {secret === HIDDEN_SECRET && may('admin') && (
          <Button look="slim" icon="key" onClick={() => void attempt(show, sayWhy)}>
            Show the secret
          </Button>
        )}
      </div>
      <Snippets app={app} of="backend" secret={secret} />
    </div>
  );
}

function Snippets({
  app,
  of,
  secret,
}: {
  readonly app: string;
  readonly of: keyof SnippetsOf;
  readonly secret: string;
}) {
  const snippets = snippetsRead.value?.[of];
  const names = [...(snippets?.keys() ?? [])];
  const [chosen = names[0] ?? '', setChosen] = useState<string>();
  const { channel, event } = sendDraft.value;
  useEffect(() => void attempt(readSnippets, sayWhy), []);
  void serverFacts.value;
  if (snippets === undefined) return null;
  const facts = {
    appId: app,
    key: keyOf(app) || 'KEY',
    secret,
    ...channelsAddress(),
    channel: channel || 'my-channel',
    event: event || 'my-event',
  };
  return (
    <div class="stack tight">
      <Tabs label="Library" names={names} chosen={chosen} choose={setChosen} panel={`${of}-code`} />
      <div id={`${of}-code`} role="tabpanel" aria-label={chosen}>
        <Code text={filled(snippets.get(chosen) ?? '', facts)} label={`Code for ${chosen}`} />
      </div>
    </div>
  );
}
