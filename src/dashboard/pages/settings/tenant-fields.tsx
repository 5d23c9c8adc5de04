import type { HistoryRule, PresenceRule } from '../../api/answers.ts';
import { seesEverything } from '../../api/session.ts';
import { Card } from '../../parts/card.tsx';
import { Field } from '../../parts/controls.tsx';
import { NumberField } from './number-field.tsx';

/** What holds for devices that say nothing themselves. */
export interface Manners {
  readonly timeZone: string;
  readonly quietHours: { readonly from: string; readonly to: string } | null;
  readonly cap: { readonly notifications: number; readonly hours: number } | null;
}

/** The settings of an app or instance that the form changes. */
export interface Editable {
  readonly name: string;
  readonly switches: Readonly<Record<string, boolean>>;
  readonly limits: Readonly<Record<string, number>>;
  /** The history rules, if the tenant is an app. */
  readonly history?: readonly HistoryRule[];
  /** The rules for presence channels, if the tenant is an app. */
  readonly presence?: readonly PresenceRule[];
  /** When notifications wait, if the tenant is a push instance. */
  readonly manners?: Manners;
  /** The origins whose pages may connect, if the tenant is an app. */
  readonly allowedOrigins?: readonly string[];
  /** For how long users without connections count as online, if the tenant is an app. */
  readonly offlineSeconds?: number | undefined;
  /** The size from which events are compressed, if the tenant is an app. */
  readonly compressAboveBytes?: number | undefined;
}

/** What a part of the form works on. */
export interface Editing {
  readonly edited: Editable;
  readonly edit: (changed: Partial<Editable>) => void;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}

/** A setting that is on or off, in words. */
export interface Switch {
  readonly name: string;
  readonly word: string;
}

interface FieldsProps extends Editing {
  readonly noun: string;
  readonly switches: readonly Switch[];
  /** What a limit of 0 means. */
  readonly hint: string;
}

/** The name, what is allowed, and the limits. */
export function Fields(props: FieldsProps) {
  const { noun, switches, hint, edited, edit, isReadOnly, faultOf } = props;
  const isBound = isReadOnly || !seesEverything();
  return (
    <>
      <section class="card" aria-label={`What the ${noun} may do`}>
        <div class="inside form">
          <Field label="Name" wrong={faultOf('name')}>
            {(given) => (
              <input
                {...given}
                disabled={isReadOnly}
                value={edited.name}
                onInput={({ currentTarget }) => edit({ name: currentTarget.value })}
              />
            )}
          </Field>
          {switches.map(({ name, word }) => (
            <label key={name} class="check">
              <input
                type="checkbox"
                disabled={isReadOnly}
                checked={edited.switches[name]}
                onChange={({ currentTarget }) =>
                  edit({ switches: { ...edited.switches, [name]: currentTarget.checked } })
                }
              />
              {word}
            </label>
          ))}
        </div>
      </section>
      <Card
        title="Limits"
        aside={
          <span class="muted small">{isBound ? 'Set by admins of the whole server.' : hint}</span>
        }
      >
        <div class="inside pair">
          {Object.entries(edited.limits).map(([name, value]) => (
            <NumberField
              key={name}
              name={name}
              wrong={faultOf(`limits.${name}`)}
              disabled={isBound}
              value={value}
              change={(number) => edit({ limits: { ...edited.limits, [name]: number } })}
            />
          ))}
        </div>
      </Card>
    </>
  );
}
