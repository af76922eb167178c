import { useMemo, useRef, useState } from 'preact/hooks';
import type { OctetSpan } from '../../../../sdk/src/dns.ts';
import { lockedPlaces, maskText, tokenPlaces } from '../../format/masked-name.ts';
import { t, textIfAny } from '../../text/text.ts';
import { Button } from '../../ui/button.tsx';
import { Icon, UndoIcon } from '../../ui/icon.tsx';
import type { ChainStep } from './chain.ts';
import { ChainView } from './chain-view.tsx';

/** Octets in a group. Wide panes show two groups beside each other. */
const GROUP = 8;

export interface HexViewProps {
  /** As they came: the fields are those of this message. */
  readonly original: Uint8Array;
  /** With what was changed here. */
  readonly octets: Uint8Array;
  /** Fields of the original; none when it is no message. */
  readonly spans: readonly OctetSpan[];
  /** Seen beside the octets, so that a change shows what it breaks. */
  readonly steps: readonly ChainStep[] | null;
  readonly changes: ReadonlySet<number>;
  readonly onToggle: (at: number) => void;
  readonly onRestore: () => void;
}

/** The octets of a message, each a button that changes its lowest bit. Hover and focus say what the octet belongs to. */
export function HexView({ original, octets, spans, steps, changes, onToggle, onRestore }: HexViewProps) {
  const [current, setCurrent] = useState<number | null>(null);
  const [stop, setStop] = useState(0);
  const grid = useRef<HTMLDivElement>(null);
  const hidden = useMemo(() => tokenPlaces(original), [original]);
  const locked = useMemo(() => lockedPlaces(original, spans), [original, spans]);
  const spanAt = useMemo(() => spansByPlace(spans, original.length), [spans, original]);
  const onClick = (event: Event): void => {
    const at = placeOf(event);
    if (at === null) return;
    setStop(at);
    setCurrent(at);
    if (!locked.has(at)) onToggle(at);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const at = placeOf(event);
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: GROUP, ArrowUp: -GROUP }[event.key];
    if (at === null || step === undefined) return;
    event.preventDefault();
    const next = Math.min(octets.length - 1, Math.max(0, at + step));
    setStop(next);
    grid.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus();
  };
  const onLook = (event: Event): void => {
    const at = placeOf(event);
    if (at !== null) setCurrent(at);
  };
  // The button goes with the changes, and the focus must not go with it.
  const undo = (): void => {
    grid.current?.querySelector<HTMLElement>(`[data-at="${stop}"]`)?.focus({ preventScroll: true });
    onRestore();
  };
  // Pointing at an octet draws the note anew, and none of the hundreds of buttons.
  const groups = useMemo(
    () =>
      Array.from({ length: Math.ceil(octets.length / GROUP) }, (_, group) => (
        <HexGroup
          key={group}
          from={group * GROUP}
          octets={octets}
          spanAt={spanAt}
          hidden={hidden}
          changes={changes}
          stop={stop}
        />
      )),
    [octets, spanAt, hidden, changes, stop],
  );
  return (
    <div class="hex-view">
      <div class="hex-parts">
        <div class="hex-note">
          <p>
            {current === null || current >= octets.length
              ? t('playground.octetsHelp')
              : noteOf(current, { octets, original, spanAt, hidden, locked })}
          </p>
          {steps === null ? null : (
            <div class="hex-chain" aria-hidden="true">
              <ChainView steps={steps} />
            </div>
          )}
          {changes.size === 0 ? null : (
            <Button onClick={undo}>
              <Icon of={UndoIcon} /> {t('playground.undo')}
            </Button>
          )}
        </div>
        <div
          ref={grid}
          class="hex code"
          role="group"
          aria-label={t('playground.octets')}
          onClick={onClick}
          onPointerOver={onLook}
          onFocusIn={onLook}
          onKeyDown={onKeyDown}
        >
          {groups}
        </div>
      </div>
    </div>
  );
}

interface HexGroupProps {
  readonly from: number;
  readonly octets: Uint8Array;
  readonly spanAt: readonly (OctetSpan | undefined)[];
  readonly hidden: ReadonlySet<number>;
  readonly changes: ReadonlySet<number>;
  readonly stop: number;
}

function HexGroup({ from, octets, spanAt, hidden, changes, stop }: HexGroupProps) {
  const places = Array.from({ length: Math.min(GROUP, octets.length - from) }, (_, at) => from + at);
  return (
    <div class="hex-group">
      <span class="dim hex-offset" aria-hidden="true">
        {from.toString(16).padStart(3, '0')}
      </span>
      <span class="hex-octets">
        {places.map((at) => {
          const span = spanAt[at];
          const isChanged = changes.has(at);
          const shown = hidden.has(at) ? '••' : hexOf(octets[at] ?? 0);
          const begins = span?.from === at ? 'begins' : '';
          return (
            // Its name must begin with the text in it: the digits are drawn by the style instead.
            <button
              key={at}
              type="button"
              data-at={at}
              class={`oct ${begins} ${span === undefined ? '' : `oct-${span.section}`} ${isChanged ? 'changed' : ''}`}
              aria-label={`octet ${at}`}
              aria-pressed={isChanged}
              data-hex={shown}
              title={`${shown} ${span?.field ?? ''}`}
              tabIndex={at === stop ? 0 : -1}
            />
          );
        })}
      </span>
      <span class="hex-text" aria-hidden="true">
        {places.map((at) => (hidden.has(at) ? '•' : letterOf(octets[at] ?? 0))).join('')}
      </span>
    </div>
  );
}

function placeOf({ target }: Event): number | null {
  const at = target instanceof HTMLElement ? target.dataset.at : undefined;
  return at === undefined ? null : Number(at);
}

function hexOf(octet: number): string {
  return octet.toString(16).padStart(2, '0');
}

function letterOf(octet: number): string {
  return octet >= 0x20 && octet < 0x7f ? String.fromCharCode(octet) : '·';
}

function spansByPlace(spans: readonly OctetSpan[], length: number): readonly (OctetSpan | undefined)[] {
  const places = new Array<OctetSpan | undefined>(length).fill(undefined);
  for (const span of spans) places.fill(span, span.from, span.to);
  return places;
}

interface NoteParts {
  readonly octets: Uint8Array;
  readonly original: Uint8Array;
  readonly spanAt: readonly (OctetSpan | undefined)[];
  readonly hidden: ReadonlySet<number>;
  readonly locked: ReadonlySet<number>;
}

const TEXT_MAX = 60;

function noteOf(at: number, { octets, original, spanAt, hidden, locked }: NoteParts) {
  const span = spanAt[at];
  const [before, now] = [hexOf(original[at] ?? 0), hexOf(octets[at] ?? 0)];
  const text = span === undefined ? '' : maskText(span.text);
  const value = hidden.has(at) ? '••' : before === now ? now : `${before} → ${now}`;
  return (
    <>
      <strong>
        {at}: <span class="code">{value}</span>
      </strong>{' '}
      {span === undefined ? null : (
        <>
          {span.section}, {span.field}{' '}
          <span class="code">{text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text}</span>{' '}
          <span class="dim">{textIfAny('octets', span.field)}</span>
        </>
      )}
      {locked.has(at) ? ` ${t('playground.octetLocked')}` : ''}
    </>
  );
}
