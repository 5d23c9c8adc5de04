import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Failed } from '../../api/client.ts';
import { may } from '../../api/session.ts';
import { Card } from '../../parts/card.tsx';
import { Code } from '../../parts/code.tsx';
import { Button, CopyButton, Field } from '../../parts/controls.tsx';
import { Confirm } from '../../parts/dialogs/confirm.tsx';
import { FailureNotice } from '../../parts/notices.tsx';
import { say } from '../../parts/toasts.tsx';
import type { HistoryRule } from './history-rules.tsx';
import { NumberField } from './number-field.tsx';
import { asYaml, Review, type Reviewed } from './review.tsx';

/** The settings of an app or instance that the form changes. */
export interface Editable {
  readonly name: string;
  readonly switches: Readonly<Record<string, boolean>>;
  readonly limits: Readonly<Record<string, number>>;
  /** Of an app. */
  readonly history?: readonly HistoryRule[];
}

/** What a part of the form works on. */
export interface Editing {
  readonly edited: Editable;
  readonly edit: (changed: Partial<Editable>) => void;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}

interface Words {
  readonly name: string;
  readonly word: string;
}

/** Runs an action, confirms it, and reloads the settings. */
export type Act = (action: () => Promise<unknown>, done: string) => Promise<void>;

interface TenantFormProps<Body extends object> {
  readonly noun: 'app' | 'instance';
  readonly id: string;
  /** Whether it is in the configuration file, which is the only place to change it then. */
  readonly isConfigured: boolean;
  readonly kept: Editable;
  readonly switches: readonly Words[];
  /** What 0 means. */
  readonly hint: string;
  /** Makes the body of a request from the edited fields. */
  readonly bodyOf: (change: Partial<Editable>) => Body;
  readonly patch: (
    body: Body,
    isDryRun: boolean,
  ) => Promise<{ readonly changes?: readonly Reviewed[] | undefined }>;
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
  const { noun, id, isConfigured, kept, switches, bodyOf, patch } = props;
  const [edited, setEdited] = useState(kept);
  const [wrong, setWrong] = useState<Failed | undefined>(undefined);
  const [isDeleting, setDeleting] = useState(false);
  const [review, setReview] = useState<readonly Reviewed[] | undefined>(undefined);
  const [yaml, setYaml] = useState<string | undefined>(undefined);
  const isReadOnly = !may('admin');
  const change = changeOf(kept, edited);
  const isChanged = Object.keys(change).length > 0;
  const body = bodyOf(change);

  const attempt = async (action: () => Promise<unknown>) => {
    setWrong(undefined);
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setWrong(error);
    }
  };
  const act: Act = (action, done) =>
    attempt(async () => {
      await action();
      say(done);
      await props.done();
    });
  /** Lets the server check the change first. The server refuses changes of tenants in its configuration file. */
  const check = () =>
    attempt(async () => {
      setYaml(undefined);
      try {
        setReview((await patch(body, true)).changes ?? []);
      } catch (error) {
        if (!isConfigured || !(error instanceof Failed) || error.status !== 409) throw error;
        setYaml(asYaml(noun, id, body));
      }
    });
  const faultOf = (field: string) => (wrong?.field === field ? wrong.message : undefined);
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
        {props.above?.(act)}
        <section class="card" aria-label={`What the ${noun} may do`}>
          <div class="inside form">
            <Field label="Name" wrong={faultOf('name')}>
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
                  checked={edited.switches[name]}
                  onChange={({ currentTarget }) => {
                    const changed = { ...edited.switches, [name]: currentTarget.checked };
                    setEdited({ ...edited, switches: changed });
                  }}
                />
                {word}
              </label>
            ))}
          </div>
        </section>
        <Card title="Limits" aside={<span class="muted small">{props.hint}</span>}>
          <div class="inside pair">
            {Object.entries(edited.limits).map(([name, value]) => (
              <NumberField
                key={name}
                name={name}
                wrong={faultOf(`limits.${name}`)}
                disabled={isReadOnly}
                value={value}
                change={(number) =>
                  setEdited({ ...edited, limits: { ...edited.limits, [name]: number } })
                }
              />
            ))}
          </div>
        </Card>
        {props.below?.({
          edited,
          edit: (changed) => setEdited({ ...edited, ...changed }),
          isReadOnly,
          faultOf,
        })}
        {!isReadOnly && (
          <div class="buttons">
            <Button type="submit" look="primary" disabled={!isChanged}>
              {isConfigured ? 'Show the YAML' : 'Save'}
            </Button>
            <Button disabled={!isChanged} onClick={() => setEdited(kept)}>
              Undo
            </Button>
            {isChanged && (
              <CopyButton look="" text={() => props.asCurl(body)}>
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
              <p>
                The server has checked it. Add it to the entry of this {noun}, then send SIGHUP.
              </p>
              <Code text={yaml} label="What to write" />
            </div>
          </section>
        )}
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
      {review !== undefined && (
        <Review
          changes={review}
          close={() => setReview(undefined)}
          save={() => void act(() => patch(body, false), 'Saved.')}
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

/** Only the edited fields. */
function changeOf(before: Editable, after: Editable): Partial<Editable> {
  const switches = changedIn(before.switches, after.switches);
  const limits = changedIn(before.limits, after.limits);
  return {
    ...(before.name === after.name ? {} : { name: after.name }),
    ...(switches && { switches }),
    ...(limits && { limits }),
    ...(after.history !== undefined &&
      JSON.stringify(before.history) !== JSON.stringify(after.history) && {
        history: after.history,
      }),
  };
}

function changedIn<Value>(
  before: Readonly<Record<string, Value>>,
  after: Readonly<Record<string, Value>>,
): Readonly<Record<string, Value>> | undefined {
  const changed = Object.entries(after).filter(([name, value]) => before[name] !== value);
  return changed.length === 0 ? undefined : Object.fromEntries(changed);
}
