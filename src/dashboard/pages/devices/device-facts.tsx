import type { Answer } from '../../api/client.ts';
import { Card, Fact } from '../../parts/card.tsx';
import { CopyButton } from '../../parts/controls.tsx';
import { counted, moment } from '../../parts/formats.ts';
import { inInstance, pathTo } from '../../routing/router.ts';
import { UserLink } from '../../shell/user-link.tsx';
import { platformNames } from '../publishes/words.ts';

interface RegisteredProps {
  readonly instance: string;
  readonly device: NonNullable<Answer<'GET /instances/{id}/devices/{device}'>['registered']>;
}

/** What a registered device is, and what it is subscribed to. */
export function Registered(props: RegisteredProps) {
  return (
    <div class="two">
      <Facts {...props} />
      <Interests {...props} />
    </div>
  );
}

function Facts({ instance, device }: RegisteredProps) {
  const { id, kind, parent, userId, acceptedAt, accepted, token, client, pausedUntil } = device;
  return (
    <Card title="Facts" aside={<CopyButton text={id}>Copy id</CopyButton>}>
      <dl class="inside facts">
        <Fact word="Id" look="mono">
          {id}
        </Fact>
        <Fact word="User">
          {userId === null ? (
            <span class="muted">none: the app has not called setUserId</span>
          ) : (
            <UserLink user={userId} instance={instance} />
          )}
        </Fact>
        <Fact word="Platform">{platformNames[device.platform]}</Fact>
        <Fact word="Token for">{kind}</Fact>
        <Fact word="Import">
          {device.import !== null && (
            <>
              {device.import}
              <div class="muted small">No SDK has registered it since.</div>
            </>
          )}
        </Fact>
        <Fact word="Leaves with" look="mono">
          {parent !== null && (
            <a href={pathTo(inInstance(instance, 'devices', parent))}>{parent}</a>
          )}
        </Fact>
        <Fact word="App" look="mono">
          {device.bundleId}
        </Fact>
        <Fact word="Push service" look="mono">
          {device.pushService}
        </Fact>
        <Fact word="First accepted">
          {acceptedAt === null ? (accepted ? 'long ago' : 'never') : moment(acceptedAt)}
          {accepted && (
            <div class="muted small">Later acceptances are only kept with each publish.</div>
          )}
        </Fact>
        <Fact word="Paused until">{pausedUntil && moment(pausedUntil)}</Fact>
        <Fact word="Language">{device.language}</Fact>
        <Fact word="Time zone">{device.timeZone}</Fact>
        <Fact word="Quiet hours">{quietWords(device.quietHours)}</Fact>
        <Fact word="Cap">{capWords(device.cap)}</Fact>
        <Fact word="Token">
          {token.begins !== '' && <span class="mono">{token.begins}… </span>}
          {counted(token.length, 'character')}
        </Fact>
        <Fact word="SDK">{client === '' ? <span class="muted">unknown</span> : client}</Fact>
        {Object.entries(device.metadata).map(([name, text]) => (
          <Fact key={name} word={name}>
            {text}
          </Fact>
        ))}
      </dl>
    </Card>
  );
}

function quietWords(quiet: RegisteredProps['device']['quietHours']): string | null {
  if (quiet === null) return null;
  return quiet === 'none' ? 'none, whatever holds for others' : `${quiet.from} to ${quiet.to}`;
}

function capWords(cap: RegisteredProps['device']['cap']): string | null {
  if (cap === null) return null;
  const { used, notifications, hours, endsAt } = cap;
  const end = endsAt === null ? '' : `; the next ${hours} h begin after ${moment(endsAt)}`;
  return `${used} of ${counted(notifications, 'notification')} in ${hours} h${end}`;
}

function Interests({ instance, device: { interests, moreInterests } }: RegisteredProps) {
  return (
    <Card
      title="Interests"
      aside={
        <span class="muted small">
          {counted(interests.length, 'interest')}
          {moreInterests && ' and more'}
        </span>
      }
    >
      <ul class="inside stack tight">
        {interests.length === 0 && (
          <li class="muted">None: only publishes to its user reach it.</li>
        )}
        {interests.map((name) => (
          <li key={name} class="cut">
            <a href={pathTo(inInstance(instance, 'devices'), { interest: name })}>{name}</a>
          </li>
        ))}
      </ul>
    </Card>
  );
}
