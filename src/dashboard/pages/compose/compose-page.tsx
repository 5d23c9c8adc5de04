import { useEffect, useRef, useState } from 'preact/hooks';
import { call, Failed } from '../../api/client.ts';
import { asCurl, asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { Button, Field, Tabs } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { count, counted } from '../../parts/formats.ts';
import { parsedObject } from '../../parts/json/json.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { address, go, inInstance } from '../../routing/router.ts';
import { instances } from '../../shell/instances.ts';
import { draft, liveOf, namesOf, withNames } from './draft.ts';
import { DraftForm } from './draft-form.tsx';
import { type Preview, Previews } from './previews.tsx';
import { ThisBrowser } from './this-browser.tsx';

/** From how many devices on the number must be typed. */
const MANY = 100;
const TYPING_MS = 300;

/** What will they see, and who gets it? */
export default function ComposePage({ instance }: { readonly instance: string }) {
  // Before the form is drawn, which begins with the names of the draft.
  useState(() => {
    const { interests, users } = address.value.query;
    if (users !== undefined) draft.value = withNames(draft.value, 'users', users);
    else if (interests !== undefined) draft.value = withNames(draft.value, 'interests', interests);
  });
  const [view, setView] = useState<'Form' | 'JSON'>('Form');
  const [json, setJson] = useState('');
  const body = draft.value;
  const isBroken = view === 'JSON' && parsedObject(json) === undefined;
  const { preview, failed } = usePreview(instance, body);
  const shown = isBroken ? undefined : preview;
  const choose = (name: 'Form' | 'JSON') => {
    if (name === 'JSON') setJson(JSON.stringify(draft.value, null, 2));
    setView(name);
  };
  return (
    <div class="page">
      <PageHead
        title="Compose"
        of={instances.nameOfId(instance)}
        says={failed === undefined ? audienceWords(shown) : undefined}
        commands={[
          { name: 'curl', text: () => curlOf(instance) },
          { name: 'fanfare', text: () => commandOf(instance) },
        ]}
      />
      {failed !== undefined && <FailureNotice failed={failed} />}
      <div class="compose">
        <section class="card" aria-label="Publish">
          <Tabs
            label="Write it as"
            names={['Form', 'JSON']}
            chosen={view}
            choose={choose}
            panel="draft"
          />
          <div class="inside stack" id="draft" role="tabpanel" aria-label={view}>
            {view === 'Form' ? (
              <DraftForm />
            ) : (
              <Field
                label="Body"
                hint="As backends send it. The form keeps what it has no field for."
                wrong={isBroken ? 'This is not a JSON object.' : undefined}
              >
                {(given) => (
                  <textarea
                    {...given}
                    class="input tall"
                    spellcheck={false}
                    value={json}
                    onInput={({ currentTarget: { value } }) => {
                      setJson(value);
                      draft.value = parsedObject(value) ?? draft.value;
                    }}
                  />
                )}
              </Field>
            )}
            <Faults preview={shown} />
            <Send instance={instance} preview={shown} />
          </div>
        </section>
        <div class="stack">
          <Previews body={body} preview={shown} />
          <ThisBrowser instance={instance} />
        </div>
      </div>
    </div>
  );
}

interface AskedPreview {
  /** The draft. */
  readonly of: string;
  readonly preview?: Preview;
  readonly failed?: Failed;
}

const NOT_ASKED: AskedPreview = { of: '' };

/** The server's preview of a draft, requested again after a pause in typing. */
function usePreview(instance: string, body: object) {
  const text = JSON.stringify(body);
  const [state, setState] = useState<AskedPreview>({ of: '' });
  useEffect(() => {
    if (!may('support')) return undefined;
    const stopping = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const given = { path: { id: instance }, body: JSON.parse(text) };
        const preview = await call('POST /instances/{id}/previews', given, stopping.signal);
        setState({ of: text, preview });
      } catch (error) {
        if (stopping.signal.aborted) return;
        setState({ of: text, failed: error instanceof Failed ? error : new Failed(0, `${error}`) });
      }
    }, TYPING_MS);
    return () => {
      stopping.abort();
      clearTimeout(timer);
    };
  }, [instance, text]);
  return state.of === text ? state : NOT_ASKED;
}

function audienceWords(preview: Preview | undefined): string {
  if (!may('support')) return 'Previews take the role support.';
  const audience = preview?.audience;
  if (preview === undefined) return 'Asking what it would do …';
  if (audience === null || audience === undefined) {
    return preview.faults.length > 0 ? 'The server would refuse it as it is.' : 'It has no target.';
  }
  const { devices, platforms, more } = audience;
  const { live } = preview;
  const here = live === null ? '' : ` ${liveWords(live)}`;
  if (devices === 0) return `No device would get it now: ${whoIsMissing()}.${here}`;
  const parts = Object.entries(platforms).map(([name, many]) => `${count(many)} ${name}`);
  return `${more ? 'More than ' : ''}${counted(devices, 'device')} would get it now: ${parts.join(' · ')}.${here}`;
}

function liveWords({ asked, reached, silent, absent }: NonNullable<Preview['live']>): string {
  const how = liveOf(draft.value, 'push') === 'always' ? 'as well' : 'instead';
  return `In the app, ${reached} of ${counted(asked, 'user')} would get it ${how}: ${silent} silent, ${absent} absent.`;
}

function whoIsMissing(): string {
  const { kind, text } = namesOf(draft.value);
  return kind === 'users' ? `none belongs to ${text}` : `none is subscribed to ${text}`;
}

function Faults({ preview }: { readonly preview: Preview | undefined }) {
  const faults = preview?.faults ?? [];
  if (faults.length === 0) return null;
  return (
    <Notice level="bad">
      <p>The server would refuse it.</p>
      <ul>
        {faults.map(({ field, rule }) => (
          <li key={field + rule}>
            <code>{field}</code> {rule}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

function Send({
  instance,
  preview,
}: {
  readonly instance: string;
  readonly preview: Preview | undefined;
}) {
  const [failed, setFailed] = useState<Failed>();
  const [isAsking, setAsking] = useState(false);
  const [isSending, setSending] = useState(false);
  // The same draft is sent once, also if the answer to the first click was lost.
  const key = useRef({ of: '', value: '' });
  const { devices = 0, more = false } = preview?.audience ?? {};
  const send = async () => {
    const text = JSON.stringify(draft.value);
    if (key.current.of !== text) key.current = { of: text, value: newKey() };
    setSending(true);
    try {
      const { publishId } = await call('POST /instances/{id}/publishes', {
        path: { id: instance },
        query: { idempotencyKey: key.current.value },
        body: draft.value,
      });
      go(inInstance(instance, 'publishes', publishId));
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setFailed(error);
    } finally {
      setSending(false);
    }
  };
  const to = `${more ? 'more than ' : ''}${counted(devices, 'device')}`;
  const isReady = preview !== undefined && preview.faults.length === 0;
  return (
    <>
      <div class="buttons">
        <Button
          look="primary"
          icon="send"
          disabled={!isReady || isSending || !may('operator')}
          onClick={() => {
            if (devices >= MANY) setAsking(true);
            else void send();
          }}
        >
          {draft.value['sendAt'] === undefined ? 'Send' : 'Schedule'}
          {isReady ? ` ${draft.value['sendAt'] === undefined ? 'to' : 'for'} ${to}` : ''}
        </Button>
        {!may('operator') && <span class="muted small">Sending takes the role operator.</span>}
      </div>
      {failed !== undefined && <FailureNotice failed={failed} />}
      {isAsking && (
        <Confirm
          title={`Send to ${to}?`}
          typed={String(devices)}
          action={`Send to ${to}`}
          close={() => setAsking(false)}
          act={send}
        >
          Nobody can take back a notification that a device has shown.
        </Confirm>
      )}
    </>
  );
}

/** Pages without TLS have no `randomUUID`. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint32Array(4))].join('-');
}

function curlOf(instance: string): string {
  return asCurl('POST /instances/{id}/publishes', { path: { id: instance }, body: draft.value });
}

function commandOf(instance: string): string {
  return asFanfare(['push', 'send', instance, JSON.stringify(draft.value)]);
}
