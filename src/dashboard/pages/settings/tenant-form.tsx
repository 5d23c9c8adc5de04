import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { SettingChange } from '../../api/answers.ts';
import { Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { useAttempt } from '../../api/use-attempt.ts';
import { Card } from '../../parts/card.tsx';
import { Code } from '../../parts/code.tsx';
import { Button, CopyButton } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { FailureNotice } from '../../parts/notices.tsx';
import { say } from '../../parts/toasts.tsx';
import { asYaml, Review } from './review.tsx';
import { type Editable, type Editing, Fields, type Switch } from './tenant-fields.tsx';

/** Runs an action, confirms it, and reloads the settings. */
export type Act = (action: () => Promise<unknown>, done: string) => Promise<void>;

interface TenantFormProps<Body extends object> {
  readonly noun: 'app' | 'instance';
  readonly id: string;
  /** Whether it is in the configuration file, which is the only place to change it then. */
  readonly isConfigured: boolean;
  readonly kept: Editable;
  readonly switches: readonly Switch[];
  /** What 0 means. */
  readonly hint: string;
  /** Makes the body of a request from the edited fields. */
  readonly bodyOf: (change: Partial<Editable>) => Body;
  readonly patch: (
    body: Body,
    isDryRun: boolean,
  ) => Promise<{ readonly changes?: readonly SettingChange[] | undefined }>;
  readonly asCurl: (body: Body) => string;
  readonly remove: () => Promise<unknown>;
  /** What else is deleted with it. */
  readonly removed: string;
  /** Called after each change. */
  readonly done: () => Promise<unknown>;
  /** The part below the limits. */
  readonly below?: (editing: Editing) => ComponentChildren;
  /** The part above the form. */
  readonly above?: (act: Act) => ComponentChildren;
  /** Other ways to take it out of service. */
  readonly ends?: (act: Act) => ComponentChildren;
}

/** Changes the settings of an app or instance, once it was shown what the change does. */
export function TenantForm<Body extends object>(props: TenantFormProps<Body>) {
  const { noun, id, isConfigured, kept } = props;
  const [edited, setEdited] = useState(kept);
  const [isDeleting, setDeleting] = useState(false);
  const isReadOnly = !may('admin');
  const change = changeOf(kept, edited);
  const body = props.bodyOf(change);
  const { wrong, act, check, checked, setChecked } = useActions(props, body);
  const editing: Editing = {
    edited,
    edit: (changed) => setEdited({ ...edited, ...changed }),
    isReadOnly,
    faultOf: (field) => (wrong?.field === field ? wrong?.message : undefined),
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
        <FailureNotice failed={wrong?.field === undefined ? wrong : undefined} />
        {props.above?.(act)}
        <Fields {...props} {...editing} />
        {props.below?.(editing)}
        {!isReadOnly && (
          <FormButtons
            isConfigured={isConfigured}
            isChanged={Object.keys(change).length > 0}
            undo={() => setEdited(kept)}
            curl={() => props.asCurl(body)}
          />
        )}
        {typeof checked === 'string' && <Yaml noun={noun} text={checked} />}
        {!isReadOnly && !isConfigured && (
          <Card title="Take it out of service">
            <div class="inside buttons">
              {props.ends?.(act)}
              <Button look="danger" onClick={() => setDeleting(true)}>
                Delete
              </Button>
            </div>
          </Card>
        )}
      </form>
      {typeof checked === 'object' && (
        <Review
          changes={checked}
          close={() => setChecked(undefined)}
          save={() => void act(() => props.patch(body, false), 'Saved.')}
        />
      )}
      {isDeleting && (
        <Confirm
          title={`Delete this ${noun}?`}
          typed={kept.name === '' ? id : kept.name}
          action="Delete for ever"
          close={() => setDeleting(false)}
          act={() => act(props.remove, 'Deleted.')}
        >
          {props.removed}
        </Confirm>
      )}
    </>
  );
}

/** What the form does on the server. `checked` is the outcome of `check`: the changes to confirm, or YAML to write. */
function useActions<Body extends object>(props: TenantFormProps<Body>, body: Body) {
  const { noun, id, isConfigured, patch } = props;
  const { wrong, attempt } = useAttempt();
  const [checked, setChecked] = useState<readonly SettingChange[] | string>();
  const act: Act = (action, done) =>
    attempt(async () => {
      await action();
      say(done);
      await props.done();
    });
  /** Lets the server check the change first. The server refuses changes of tenants in its configuration file. */
  const check = () =>
    attempt(async () => {
      setChecked(undefined);
      try {
        setChecked((await patch(body, true)).changes ?? []);
      } catch (error) {
        if (!isConfigured || !(error instanceof Failed) || error.status !== 409) throw error;
        setChecked(asYaml(noun, id, body));
      }
    });
  return { wrong, act, check, checked, setChecked };
}

interface FormButtonsProps {
  readonly isConfigured: boolean;
  readonly isChanged: boolean;
  readonly undo: () => void;
  readonly curl: () => string;
}

function FormButtons({ isConfigured, isChanged, undo, curl }: FormButtonsProps) {
  return (
    <div class="buttons">
      <Button type="submit" look="primary" disabled={!isChanged}>
        {isConfigured ? 'Show the YAML' : 'Save'}
      </Button>
      <Button disabled={!isChanged} onClick={undo}>
        Undo
      </Button>
      {isChanged && (
        <CopyButton look="" text={curl}>
          curl
        </CopyButton>
      )}
    </div>
  );
}

function Yaml({ noun, text }: { readonly noun: string; readonly text: string }) {
  return (
    <section class="card" aria-labelledby="yaml" role="status">
      <header>
        <h2 id="yaml">Write this into the configuration file</h2>
      </header>
      <div class="inside stack">
        <p>The server has checked it. Add it to the entry of this {noun}, then send SIGHUP.</p>
        <Code text={text} label="What to write" />
      </div>
    </section>
  );
}

/** Only the edited fields. */
function changeOf(before: Editable, after: Editable): Partial<Editable> {
  const switches = changedIn(before.switches, after.switches);
  const limits = changedIn(before.limits, after.limits);
  return {
    ...changedList('history', before.history, after.history),
    ...changedList('presence', before.presence, after.presence),
    ...changedList('allowedOrigins', before.allowedOrigins, after.allowedOrigins),
    ...(isSame(before.manners, after.manners) ? {} : { manners: after.manners }),
    ...(before.name === after.name ? {} : { name: after.name }),
    ...(before.offlineSeconds === after.offlineSeconds
      ? {}
      : { offlineSeconds: after.offlineSeconds }),
    ...(before.compressAboveBytes === after.compressAboveBytes
      ? {}
      : { compressAboveBytes: after.compressAboveBytes }),
    ...(switches && { switches }),
    ...(limits && { limits }),
  };
}

function isSame(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) === JSON.stringify(after);
}

function changedList<Name extends string, Entry>(
  name: Name,
  before: readonly Entry[] | undefined,
  after: readonly Entry[] | undefined,
): Partial<Record<Name, readonly Entry[]>> {
  if (after === undefined || isSame(before, after)) return {};
  return { [name]: after } as Record<Name, readonly Entry[]>;
}

function changedIn<Value>(
  before: Readonly<Record<string, Value>>,
  after: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> | undefined {
  const changed = Object.entries(after).filter(([name, value]) => before[name] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
