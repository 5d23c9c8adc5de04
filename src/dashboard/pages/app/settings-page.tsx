import { useState } from 'preact/hooks';
import { type Answer, call, Failed, type Given } from '../../api/client.ts';
import { asCurl } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Code } from '../../parts/code.tsx';
import { Confirm } from '../../parts/confirm.tsx';
import { Button, CopyButton, Field } from '../../parts/controls.tsx';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { say } from '../../parts/toasts.tsx';
import { go } from '../../routing/router.ts';
import { askApps } from '../../shell/apps.ts';
import { asYaml, Review, type Reviewed } from './review.tsx';

type App = Answer<'GET /apps/{id}'>;
type Change = NonNullable<Given<'PATCH /apps/{id}'>['body']>;
type LimitName = keyof App['limits'];

const switches = [
  { name: 'clientEvents', word: 'Clients may send events to each other' },
  { name: 'subscriptionCounts', word: 'Clients get the number of subscribers' },
  { name: 'watchlists', word: 'Users may watch whether others are online' },
  {
    name: 'authorizedConnectionsOnly',
    word: 'Connections must sign in or subscribe to a private channel',
  },
] as const;

const limits: readonly { readonly name: LimitName; readonly word: string }[] = [
  { name: 'connections', word: 'Connections' },
  { name: 'messagesPerDay', word: 'Messages per day' },
  { name: 'eventDataBytes', word: 'Bytes of an event' },
  { name: 'clientEventsPerSecond', word: 'Client events per second' },
  { name: 'presenceMembers', word: 'Members of a presence channel' },
  { name: 'channelsPerConnection', word: 'Channels of a connection' },
  { name: 'channelsPerTrigger', word: 'Channels of a request' },
  { name: 'eventsPerBatch', word: 'Events of a batch' },
  { name: 'subscriptionsPerSecond', word: 'Subscriptions per second' },
  { name: 'memberChangesPerSecond', word: 'Member changes per second' },
  { name: 'triggersPerSecond', word: 'Triggers per second' },
  { name: 'queriesPerSecond', word: 'Queries per second' },
];

/** How is this app set? */
export default function SettingsPage({ app }: { readonly app: string }) {
  const { value, failed, reload } = useAnswer('GET /apps/{id}', { path: { id: app } });
  return (
    <div class="page">
      <PageHead
        title="Settings"
        of={app}
        failed={failed}
        says={
          value === undefined
            ? undefined
            : value.source === 'configuration'
              ? 'This app is in the configuration file. Edit here to see what to write there.'
              : 'A change is in effect when it is saved, and survives a restart.'
        }
      />
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
      {value !== undefined && (
        <SettingsForm key={JSON.stringify(value)} app={value} reload={reload} />
      )}
    </div>
  );
}

function SettingsForm({ app, reload }: { readonly app: App; readonly reload: () => void }) {
  const [edited, setEdited] = useState(app);
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const [isDeleting, setDeleting] = useState(false);
  const [review, setReview] = useState<readonly Reviewed[] | undefined>(undefined);
  const [yaml, setYaml] = useState<string | undefined>(undefined);
  const isReadOnly = !may('admin');
  const isConfigured = app.source === 'configuration';
  const change = changeOf(app, edited);
  const isChanged = Object.keys(change).length > 0;

  const act = async (action: () => Promise<unknown>, done: string) => {
    setWrong(undefined);
    try {
      await action();
      say(done);
      await askApps();
      reload();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
  const path = { id: app.id };
  /** Has the server check the change first. It refuses a change of what its configuration file sets. */
  const check = async () => {
    setWrong(undefined);
    setYaml(undefined);
    try {
      const query = { 'dry-run': 'true' } as const;
      const { changes = [] } = await call('PATCH /apps/{id}', { path, query, body: change });
      setReview(changes);
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      if (isConfigured && error.status === 409) setYaml(asYaml(app.id, change));
      else setWrong(error);
    }
  };
  return (
    <>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          void check();
        }}
      >
        {wrong !== undefined && wrong.field === undefined && <FailureNotice failed={wrong} />}
        {!app.enabled && (
          <Notice
            level="warn"
            actions={
              <Button
                disabled={isReadOnly || isConfigured}
                onClick={() => void act(() => call('POST /apps/{id}/enable', { path }), 'Enabled.')}
              >
                Enable
              </Button>
            }
          >
            <p>
              This app is disabled. Its requests get 403, and its connections are closed with 4003.
            </p>
          </Notice>
        )}
        <section class="card" aria-label="What the app may do">
          <div class="inside form">
            <Field label="Name" wrong={wrong?.field === 'name' ? wrong.message : undefined}>
              {(given) => (
                <input
                  {...given}
                  disabled={isReadOnly}
                  value={edited.name}
                  onInput={({ currentTarget }) =>
                    setEdited({ ...edited, name: currentTarget.value })
                  }
                />
              )}
            </Field>
            {switches.map(({ name, word }) => (
              <label key={name} class="check">
                <input
                  type="checkbox"
                  disabled={isReadOnly}
                  checked={edited[name]}
                  onChange={({ currentTarget }) => {
                    setEdited({ ...edited, [name]: currentTarget.checked });
                  }}
                />
                {word}
              </label>
            ))}
          </div>
        </section>
        <section class="card" aria-labelledby="limits">
          <header>
            <h2 id="limits">Limits</h2>
            <span class="muted small">0 connections or messages per day: no limit.</span>
          </header>
          <div class="inside pair">
            {limits.map(({ name, word }) => (
              <Field
                key={name}
                label={word}
                wrong={wrong?.field === `limits.${name}` ? wrong.message : undefined}
              >
                {(given) => (
                  <input
                    {...given}
                    type="number"
                    min="0"
                    disabled={isReadOnly}
                    value={edited.limits[name]}
                    onInput={({ currentTarget }) => {
                      const number = currentTarget.valueAsNumber;
                      if (Number.isNaN(number)) return;
                      setEdited({ ...edited, limits: { ...edited.limits, [name]: number } });
                    }}
                  />
                )}
              </Field>
            ))}
          </div>
        </section>
        {!isReadOnly && (
          <div class="buttons">
            <Button type="submit" look="primary" disabled={!isChanged}>
              {isConfigured ? 'Show the YAML' : 'Save'}
            </Button>
            <Button disabled={!isChanged} onClick={() => setEdited(app)}>
              Undo
            </Button>
            {isChanged && (
              <CopyButton look="" text={() => asCurl('PATCH /apps/{id}', { path, body: change })}>
                curl
              </CopyButton>
            )}
          </div>
        )}
        {yaml !== undefined && (
          <section class="card" aria-labelledby="yaml" role="status">
            <header>
              <h2 id="yaml">Write this into the configuration file</h2>
            </header>
            <div class="inside stack">
              <p>The server has checked it. Add it to the entry of this app, then send SIGHUP.</p>
              <Code text={yaml} label="What to write" />
            </div>
          </section>
        )}
        {!isReadOnly && !isConfigured && (
          <section class="card" aria-labelledby="end">
            <header>
              <h2 id="end">Take it out of service</h2>
            </header>
            <div class="inside buttons">
              {app.enabled && (
                <Button
                  look="danger"
                  onClick={() =>
                    void act(() => call('POST /apps/{id}/disable', { path }), 'Disabled.')
                  }
                >
                  Disable
                </Button>
              )}
              <Button look="danger" onClick={() => setDeleting(true)}>
                Delete
              </Button>
            </div>
          </section>
        )}
      </form>
      {review !== undefined && (
        <Review
          changes={review}
          close={() => setReview(undefined)}
          save={() => void act(() => call('PATCH /apps/{id}', { path, body: change }), 'Saved.')}
        />
      )}
      {isDeleting && (
        <Confirm
          title="Delete this app?"
          typed={app.name === '' ? app.id : app.name}
          action="Delete for ever"
          close={() => setDeleting(false)}
          act={() =>
            act(async () => {
              await call('DELETE /apps/{id}', { path });
              go('/');
            }, 'Deleted.')
          }
        >
          Its connections are closed with 4003, and its keys are gone.
        </Confirm>
      )}
    </>
  );
}

/** Only what was edited. */
function changeOf(before: App, after: App): Change {
  const changed = switches.flatMap(({ name }) =>
    before[name] === after[name] ? [] : [[name, after[name]] as const],
  );
  const numbers = limits.flatMap(({ name }) =>
    before.limits[name] === after.limits[name] ? [] : [[name, after.limits[name]] as const],
  );
  return {
    ...(before.name === after.name ? {} : { name: after.name }),
    ...Object.fromEntries(changed),
    ...(numbers.length === 0 ? {} : { limits: Object.fromEntries(numbers) }),
  };
}
