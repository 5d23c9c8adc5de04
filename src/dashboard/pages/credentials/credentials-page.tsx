import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Answer, call, Failed } from '../../api/client.ts';
import { asFanfare } from '../../api/command.ts';
import { may } from '../../api/session.ts';
import { useAnswer } from '../../api/use-answer.ts';
import { Button } from '../../parts/controls.tsx';
import { moment } from '../../parts/formats.ts';
import { FailureNotice, Notice } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { AwayServers, namesOf } from '../../parts/servers.tsx';
import { instances } from '../../shell/instances.ts';
import { CheckResult } from './check-result.tsx';
import { NewCredential } from './new-credential.tsx';
import { devices, type Gateway, names, stateOf } from './words.ts';

type Instance = Answer<'GET /instances/{id}'>;

const POLL_MS = 10_000;

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
      {failed !== undefined && <FailureNotice failed={failed} retry={reload} />}
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
    </div>
  );
}

function GatewayCard({
  gateway,
  instance,
  reload,
}: {
  readonly gateway: Gateway;
  readonly instance: Instance;
  readonly reload: () => void;
}) {
  const { platform, configured, pauses, morePauses, acceptedAtMs, refusal } = gateway;
  const [isReplacing, setReplacing] = useState(false);
  const [outcome, setOutcome] = useState<Answer<'POST /instances/{id}/gateways/check'> | Failed>();
  const [isAsking, setAsking] = useState(false);
  const { look, word } = stateOf(gateway);
  const check = async () => {
    setAsking(true);
    try {
      const given = { path: { id: instance.id }, body: { platform } };
      setOutcome(await call('POST /instances/{id}/gateways/check', given));
    } catch (error) {
      if (!(error instanceof Failed)) throw error;
      setOutcome(error);
    } finally {
      setAsking(false);
    }
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
            <Button disabled={isAsking || !may('operator')} onClick={() => void check()}>
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
          {configured && (
            <Fact word="last accepted">
              {acceptedAtMs === null ? 'nothing since the start' : moment(acceptedAtMs)}
            </Fact>
          )}
        </dl>
        {pauses.map((pause) => (
          <Notice key={`${pause.origin} ${pause.reason}`} level="bad">
            <p>
              Paused since {moment(pause.sinceMs)}
              {pause.origin !== null && ` for ${pause.origin}`} by {pause.servers.join(', ')}:{' '}
              {pause.why}.
            </p>
            {pause.advice !== null && <p class="advice">{pause.advice}</p>}
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
        <div role="status">
          {isAsking && <p class="muted">Asking {names[platform]} …</p>}
          {!isAsking && outcome !== undefined && !(outcome instanceof Failed) && (
            <CheckResult platform={platform} answers={outcome.answers} />
          )}
        </div>
        {outcome instanceof Failed && <FailureNotice failed={outcome} />}
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
        <StandIn origin={apns.origin} />
      </>
    );
  }
  if (platform === 'fcm' && fcm !== undefined) {
    return (
      <>
        <Fact word="from">{fcm.serviceAccountFile ?? 'the store'}</Fact>
        <StandIn origin={fcm.origin} />
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

function StandIn({ origin }: { readonly origin: string | null }) {
  return origin === null ? null : <Fact word="in place of the vendor">{origin}</Fact>;
}

function Fact({ word, children }: { readonly word: string; readonly children: ComponentChildren }) {
  return (
    <>
      <dt>{word}</dt>
      <dd class="breakable">{children}</dd>
    </>
  );
}
