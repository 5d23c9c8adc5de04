import { type Answer, call, type Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { Button, Field, TextField } from '../../parts/controls.tsx';
import { counted } from '../../parts/formats.ts';
import { commandKey } from '../../parts/hotkeys.ts';
import { parsedJson } from '../../parts/json/json.ts';
import { FailureNotice } from '../../parts/notices.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { inApp, pathTo } from '../../routing/router.ts';
import { channelsIn, sendDraft } from './draft.ts';

export type Sent = Answer<'POST /apps/{id}/events'>;

/** Sends an event as a backend would, and shows who received it. The browser never gets the secret. */
export function SendForm({
  app,
  sent: notify,
}: {
  readonly app: string;
  readonly sent?: (sent: Sent) => void;
}) {
  const { answer, failed, isBusy, attempt, setOutcome } = useOutcome<Sent>();
  const send = () => {
    setOutcome(undefined);
    void attempt(async () => {
      const { channel, event: name, data } = sendDraft.value;
      const body = { name, channels: channelsIn(channel), data };
      const sent = await call('POST /apps/{id}/events', { path: { id: app }, body });
      setOutcome(sent);
      notify?.(sent);
    });
  };
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) send();
      }}
    >
      <EventFields failed={failed} />
      <div class="buttons">
        <Button type="submit" look="primary" icon="send" disabled={isBusy || !may('operator')}>
          Send
        </Button>
        <span class="muted small">
          {may('operator') ? `${commandKey} Enter sends too.` : 'Sending takes the role operator.'}
        </span>
      </div>
      <div class="result" role="status">
        {answer !== undefined && <SentTo app={app} sent={answer} />}
      </div>
      {failed?.field === undefined && <FailureNotice failed={failed} />}
    </form>
  );
}

/** What is sent, and what is wrong with it. */
function EventFields({ failed }: { readonly failed: Failed | undefined }) {
  const { channel, event, data } = sendDraft.value;
  const change = (part: Partial<typeof sendDraft.value>) => {
    sendDraft.value = { ...sendDraft.value, ...part };
  };
  // The server names one of several channels by its place: `channels[1]`.
  const wrong = (field: string) =>
    failed?.field?.startsWith(field) === true ? failed.message : undefined;
  const isNoJson = data.trim() !== '' && parsedJson(data) === undefined;
  return (
    <>
      <div class="pair">
        <TextField
          label="Channel"
          hint="Several with commas between them"
          wrong={wrong('channels')}
          required
          value={channel}
          write={(channel) => change({ channel })}
        />
        <TextField
          label="Event"
          wrong={wrong('name')}
          required
          value={event}
          write={(event) => change({ event })}
        />
      </div>
      <Field
        label="Data"
        hint={isNoJson ? 'This is not JSON. It is sent as text.' : 'JSON, or any text'}
        wrong={wrong('data')}
      >
        {(given) => (
          <textarea
            {...given}
            spellcheck={false}
            value={data}
            onInput={({ currentTarget: { value } }) => change({ data: value })}
          />
        )}
      </Field>
    </>
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
              <strong class="warn">Received by nobody.</strong> Nobody is subscribed to {name}.{' '}
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
