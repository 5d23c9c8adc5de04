import { useState } from 'preact/hooks';
import type { Gateway, Instance } from '../../api/answers.ts';
import { call } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Fact } from '../../parts/card.tsx';
import { Button } from '../../parts/controls.tsx';
import { moment } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { useOutcome } from '../../parts/use-outcome.ts';
import { instances } from '../../shell/instances.ts';
import { type CheckAnswers, CheckResult } from './check-result.tsx';
import { NewCredential } from './new-credential.tsx';
import { SecretKeys } from './secret-keys.tsx';
import { devices, names, stateOf } from './words.ts';

const POLL_MS = 10_000;
const STAND_IN = 'in place of the vendor';

/** Can we still reach Apple, Google, browsers? */
export default function CredentialsPage({ instance: id }: { readonly instance: string }) {
  const path = { id };
  const asked = useAnswer('GET /instances/{id}/gateways', { path }, { everyMs: POLL_MS });
  const instance = useAnswer('GET /instances/{id}', { path });
  const failed = asked.failed ?? instance.failed;
  const gateways = asked.value?.gateways;
  const reload = () => {
    asked.reload();
    instance.reload();
  };
  return (
    <div class="page">
      <PageHead
        title="Credentials"
        of={instances.nameOfId(id)}
        says={
          gateways === undefined
            ? failed === undefined && 'Asking …'
            : gateways.map((one) => `${names[one.platform]}: ${stateOf(one).says}`).join(' · ')
        }
      />
      <FailureNotice failed={failed} retry={reload} />
      <AwayServers servers={asked.value?.servers} />
      {instance.value !== undefined &&
        gateways?.map((gateway) => (
          <GatewayCard
            key={gateway.platform}
            gateway={gateway}
            instance={instance.value as Instance}
            reload={reload}
          />
        ))}
      {asked.value !== undefined && (
        <p class="muted small">
          What {namesOf(asked.value.servers)} saw since the start. Each server sends and pauses on
          its own.
        </p>
      )}
      <SecretKeys instance={id} />
    </div>
  );
}

interface GatewayCardProps {
  readonly gateway: Gateway;
  readonly instance: Instance;
  readonly reload: () => void;
}

function GatewayCard({ gateway, instance, reload }: GatewayCardProps) {
  const { platform, configured, acceptedAtMs } = gateway;
  const [isReplacing, setReplacing] = useState(false);
  const { answer: answers, failed, isBusy, attempt, setOutcome } = useOutcome<CheckAnswers>();
  const { look, word } = stateOf(gateway);
  const check = async () => {
    const given = { path: { id: instance.id }, body: { platform } };
    setOutcome((await call('POST /instances/{id}/gateways/check', given)).answers);
  };
  const heading = `gateway-${platform}`;
  return (
    <section class="card" aria-labelledby={heading}>
      <header>
        <div class="line-of">
          <h2 id={heading}>{names[platform]}</h2>
          <span class={`tag ${look}`}>{word}</span>
        </div>
        <div class="buttons">
          {configured && (
            <Button disabled={isBusy || !may('operator')} onClick={() => void attempt(check)}>
              Check
            </Button>
          )}
          {platform !== 'web' && may('admin') && (
            <Button onClick={() => setReplacing(!isReplacing)}>
              {configured ? 'Replace' : 'Put one in'}
            </Button>
          )}
        </div>
      </header>
      <div class="inside stack">
        <dl class="facts">
          <Kept instance={instance} platform={platform} />
          <Fact word="last accepted">
            {configured &&
              (acceptedAtMs === null ? 'nothing since the start' : moment(acceptedAtMs))}
          </Fact>
        </dl>
        <Pauses gateway={gateway} />
        <div role="status">
          {isBusy && <p class="muted">Asking {names[platform]} …</p>}
          {!isBusy && answers !== undefined && (
            <CheckResult platform={platform} answers={answers} />
          )}
        </div>
        <FailureNotice failed={failed} />
        {isReplacing && platform !== 'web' && (
          <NewCredential
            platform={platform}
            instance={instance}
            done={() => {
              setReplacing(false);
              setOutcome(undefined);
              reload();
            }}
          />
        )}
      </div>
    </section>
  );
}

/** What keeps notifications from the gateway now, or else what it refused last. */
function Pauses({ gateway: { pauses, morePauses, refusal } }: Pick<GatewayCardProps, 'gateway'>) {
  return (
    <>
      {pauses.map(({ origin, reason, sinceMs, servers, why, advice }) => (
        <Notice key={`${origin} ${reason}`} level="bad">
          <p>
            Paused since {moment(sinceMs)}
            {origin !== null && ` for ${origin}`} by {servers.join(', ')}: {why}.
          </p>
          {advice !== null && <p class="advice">{advice}</p>}
        </Notice>
      ))}
      {morePauses > 0 && <p class="muted">{morePauses} more push services are paused.</p>}
      {pauses.length === 0 && refusal !== null && (
        <Notice level="warn">
          <p>
            Last refusal, {moment(refusal.atMs)}: {refusal.why}.
          </p>
          {refusal.advice !== null && <p class="advice">{refusal.advice}</p>}
        </Notice>
      )}
    </>
  );
}

/** The parts of a stored credential that may be shown. */
function Kept({
  instance: { id, source, apns, fcm, web },
  platform,
}: {
  readonly instance: Instance;
  readonly platform: Gateway['platform'];
}) {
  if (platform === 'apns' && apns !== undefined) {
    return (
      <>
        <Fact word="team">{apns.teamId}</Fact>
        <Fact word="key">{apns.keyId}</Fact>
        <Fact word="from">{apns.privateKeyFile ?? 'the store'}</Fact>
        <Fact word="service">{apns.environment}</Fact>
        <Fact word={STAND_IN}>{apns.origin}</Fact>
      </>
    );
  }
  if (platform === 'fcm' && fcm !== undefined) {
    return (
      <>
        <Fact word="project">{fcm.projectId}</Fact>
        <Fact word="from">
          {fcm.metadata ? 'the machine (metadata)' : (fcm.serviceAccountFile ?? 'the store')}
        </Fact>
        <Fact word={STAND_IN}>{fcm.origin}</Fact>
      </>
    );
  }
  if (platform === 'web' && web !== undefined) {
    return (
      <>
        <Fact word="public key">{web.vapid.publicKey}</Fact>
        <Fact word="contact">
          {web.vapid.subject}
          {web.vapid.subject.endsWith('@example.com') && (
            <div class="muted">
              A stand-in, by which push services cannot reach you. Change it:{' '}
              <code>
                {source === 'store'
                  ? asFanfare(['instances', 'change', id], { 'vapid-subject': 'mailto:YOU' })
                  : 'web.vapid.subject'}
              </code>
            </div>
          )}
        </Fact>
        <Fact word="replace it">Another key would end the subscription of every browser.</Fact>
      </>
    );
  }
  return <Fact word="without it">{devices[platform]} get no notifications.</Fact>;
}
