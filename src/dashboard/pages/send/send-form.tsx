import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { Button, Field, TextField } from '../../parts/controls.tsx';
import { counted } from '../../parts/formats.ts';
import { commandKey } from '../../parts/hotkeys.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { inApp, pathTo } from '../../routing/router.ts';
import { channelsIn, sendDraft } from './draft.ts';

export type Sent = Answer<'POST /apps/{id}/events'>;

/** Sends an event as a backend would, and shows who received it. The browser never gets the secret. */
export function SendForm({
  app,
  sent: tell,
}: {
  readonly app: string;
  readonly sent?: (sent: Sent) => void;
}) {
  const draft = sendDraft.value;
  const change = (part: Partial<typeof draft>) => {
    sendDraft.value = { ...sendDraft.value, ...part };
  };
  const [outcome, setOutcome] = useState<Sent | Failed | 'sending' | undefined>(undefined);
  const failed = outcome instanceof Failed ? outcome : undefined;
  const isNoJson = draft.data.trim() !== '' && parsedJson(draft.data) === undefined;

  const send = async () => {
    setOutcome('sending');
    const { channel, event, data } = sendDraft.value;
    const channels = channelsIn(channel);
    try {
      const answer = await call('POST /apps/{id}/events', {
        path: { id: app },
        body: { name: event, channels, data },
      });
      setOutcome(answer);
      tell?.(answer);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setOutcome(error);
    }
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void send();
      }}
    >
      <div class="pair">
        <TextField
          label="Channel"
          hint="Several with commas between them"
          wrong={failed?.field?.startsWith('channels') === true ? failed.message : undefined}
          required
          value={draft.channel}
          write={(channel) => change({ channel })}
        />
        <TextField
          label="Event"
          wrong={failed?.field === 'name' ? failed.message : undefined}
          required
          value={draft.event}
          write={(event) => change({ event })}
        />
      </div>
      <Field
        label="Data"
        hint={isNoJson ? 'This is not JSON. It is sent as text.' : 'JSON, or any text'}
        wrong={failed?.field === 'data' ? failed.message : undefined}
      >
        {(given) => (
          <textarea
            {...given}
            spellcheck={false}
            value={draft.data}
            onInput={({ currentTarget }) => change({ data: currentTarget.value })}
          />
        )}
      </Field>
      <div class="buttons">
        <Button
          type="submit"
          look="primary"
          icon="send"
          disabled={outcome === 'sending' || !may('operator')}
        >
          Send
        </Button>
        <span class="muted small">
          {may('operator') ? `${commandKey} Enter sends too.` : 'Sending takes the role operator.'}
        </span>
      </div>
      <div class="result" role="status">
        {outcome !== undefined && outcome !== 'sending' && !(outcome instanceof Failed) && (
          <SentTo app={app} sent={outcome} />
        )}
      </div>
      {failed !== undefined && failed.field === undefined && <FailureNotice failed={failed} />}
    </form>
  );
}

function SentTo({ app, sent }: { readonly app: string; readonly sent: Sent }) {
  const appPath = inApp(app);
  return (
    <ul class="stack tight">
      {sent.channels.map(({ name, receivers, near }) => (
        <li key={name}>
          {receivers === 0 ? (
            <p>
              <strong class="warn">0 heard.</strong> Nobody is subscribed to {name}.{' '}
              {near !== null && (
                <>
                  Did you mean{' '}
                  <a
                    href={pathTo(`${appPath}/send`)}
                    onClick={(event) => {
                      event.preventDefault();
                      sendDraft.value = { ...sendDraft.value, channel: near };
                    }}
                  >
                    {near}
                  </a>
                  ?
                </>
              )}
            </p>
          ) : (
            <p>
              <strong class="ok">{counted(receivers, 'connection')} received it</strong> on {name}.{' '}
              <a href={pathTo(`${appPath}/live`, { channel: name })}>Watch this channel</a>
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
