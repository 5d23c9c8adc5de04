import type { ComponentChildren } from 'preact';
import { Card } from '../../parts/card.tsx';
import { Button, Field } from '../../parts/controls.tsx';

/** Rules of channels: of those that fit a channel, the first one counts. */
export function ChannelRules<Rule extends { readonly channels: string }>({
  title,
  setting,
  example,
  rules,
  change,
  fresh,
  add,
  isReadOnly,
  faultOf,
  before,
  after,
  numbersOf,
}: {
  readonly title: string;
  /** The name of the setting. */
  readonly setting: string;
  /** Such channels. */
  readonly example: string;
  readonly rules: readonly Rule[];
  readonly change: (rules: readonly Rule[]) => void;
  /** What a new rule is. */
  readonly fresh: Rule;
  /** The words of the button that adds one. */
  readonly add: string;
  readonly isReadOnly: boolean;
  readonly faultOf: (field: string) => string | undefined;
  readonly before?: ComponentChildren;
  readonly after?: ComponentChildren;
  /** The numbers of a rule. `path`: of the rule in the settings, with a dot at the end. */
  readonly numbersOf: (
    rule: Rule,
    put: (changed: Partial<Rule>) => void,
    path: string,
  ) => ComponentChildren;
}) {
  return (
    <Card
      title={title}
      aside={<span class="muted small">The first rule that fits a channel counts.</span>}
    >
      <div class="inside stack">
        {before}
        {rules.map((rule, at) => {
          const path = `${setting}[${at}].`;
          const put = (changed: Partial<Rule>) =>
            change(rules.map((one, index) => (index === at ? { ...one, ...changed } : one)));
          return (
            // Rules have no names, and stay in their places while they are typed.
            <fieldset key={at} class="plain pair" aria-label={`${title} rule ${at + 1}`}>
              <Field label={`Channels, such as ${example}`} wrong={faultOf(`${path}channels`)}>
                {(given) => (
                  <input
                    {...given}
                    disabled={isReadOnly}
                    value={rule.channels}
                    onInput={({ currentTarget }) =>
                      put({ channels: currentTarget.value } as Partial<Rule>)
                    }
                  />
                )}
              </Field>
              {numbersOf(rule, put, path)}
              {!isReadOnly && (
                <Button onClick={() => change(rules.filter((_, index) => index !== at))}>
                  Remove
                </Button>
              )}
            </fieldset>
          );
        })}
        {after}
        {!isReadOnly && (
          <div class="buttons">
            <Button onClick={() => change([...rules, fresh])}>{add}</Button>
          </div>
        )}
      </div>
    </Card>
  );
}
