import type { PresenceRule } from '../../api/answers.ts';
import { Card } from '../../parts/card.tsx';
import { Button, Field } from '../../parts/controls.tsx';
import { NumberField } from './number-field.tsx';

const NEW: PresenceRule = {
  channels: 'presence-*',
  graceSeconds: 10,
  members: null,
  shown: null,
  named: 0,
};

/** What an empty field means. */
const EMPTY = { members: 'as the limit of the app', shown: 'all: the channel is not large' };

/** The rules of presence channels. */
export function PresenceRules({
  rules,
  change,
  isReadOnly,
  faultOf,
}: {
  readonly rules: readonly PresenceRule[];
  readonly change: (rules: readonly PresenceRule[]) => void;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
}) {
  const put = (at: number, changed: Partial<PresenceRule>) =>
    change(rules.map((rule, index) => (index === at ? { ...rule, ...changed } : rule)));
  return (
    <Card
      title="Presence"
      aside={<span class="muted small">The first rule that fits a channel counts.</span>}
    >
      <div class="inside stack">
        <p class="muted small">
          Grace: a member whose last connection has ended stays for so many seconds. Whoever is back
          by then was never gone. Shown: a channel is large, and its newcomers see so many members
          and the number of all. Named: how many joins and leaves of a large channel clients hear of
          each second. Members: how many a channel may have; 0: no limit.
        </p>
        {rules.map((rule, at) => (
          // Rules have no names, and stay in their places while they are typed.
          <fieldset key={at} class="plain pair" aria-label={`Presence rule ${at + 1}`}>
            <Field label="Channels, such as presence-*" wrong={faultOf(`presence[${at}].channels`)}>
              {(given) => (
                <input
                  {...given}
                  disabled={isReadOnly}
                  value={rule.channels}
                  onInput={({ currentTarget }) => put(at, { channels: currentTarget.value })}
                />
              )}
            </Field>
            {(['graceSeconds', 'named'] as const).map((name) => (
              <NumberField
                key={name}
                name={name}
                wrong={faultOf(`presence[${at}].${name}`)}
                disabled={isReadOnly}
                value={rule[name]}
                change={(value) => put(at, { [name]: value })}
              />
            ))}
            {(['members', 'shown'] as const).map((name) => (
              <NumberField
                key={name}
                name={name}
                wrong={faultOf(`presence[${at}].${name}`)}
                disabled={isReadOnly}
                value={rule[name]}
                change={(value) => put(at, { [name]: value })}
                empty={{ means: EMPTY[name], chosen: () => put(at, { [name]: null }) }}
              />
            ))}
            {!isReadOnly && (
              <Button onClick={() => change(rules.filter((_, index) => index !== at))}>
                Remove
              </Button>
            )}
          </fieldset>
        ))}
        {!isReadOnly && (
          <div class="buttons">
            <Button onClick={() => change([...rules, NEW])}>Add a rule for presence</Button>
          </div>
        )}
      </div>
    </Card>
  );
}
