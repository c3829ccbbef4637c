"""One tuning, from what is known already to the winner that is kept."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.ir.base.errors import UserError
from pypto.ir.base.settings import current
from pypto.ir.printer import print_module
from pypto.ir.schedule import with_schedule
from pypto.runtime.tuning.artefacts import ArtefactFolder, artefact_root
from pypto.runtime.tuning.candidate import Candidate, Outcome, Trial
from pypto.runtime.tuning.compiling import CompiledCandidate, CompileJob
from pypto.runtime.tuning.keys import SubjectKey, code_digest, digest, search_key, timing_key
from pypto.runtime.tuning.locks import LockTimeout
from pypto.runtime.tuning.measuring.options import MeasureOptions
from pypto.runtime.tuning.selection import Metric
from pypto.runtime.tuning.store import FILE_NAME, Row, TuningStore, warn_once, warn_unused
from pypto.tuning_case import TuningCase
from pypto.tuning_report import Reporter
from pypto.tuning_result import TuningResult, result_from_json, result_to_json, trial_from_json, trial_to_json

if TYPE_CHECKING:
    from pypto.search_space import TilingSearchSpace

LOCK_SECONDS = 600.0
"""How long another process may tune the same kernel before this one goes on without waiting."""
COMPILE_SECONDS = 60.0
"""How long one candidate may compile."""
_KEPT = (Outcome.MEASURED, Outcome.WRONG_RESULT)
"""What would be the same if it was tried again. Full disks, little memory and busy machines fail candidates, too."""
_UNSAFE = {
    Outcome.WRONG_RESULT: "gives a wrong result",
    Outcome.HUNG: "does not end",
    Outcome.CRASHED: "ends its process",
}
"""What forbids to run a kernel, in words."""
_UNMEASURED = "taken by the model, unmeasured (topn 1)"
_NOT_TRIED = (Outcome.NOT_RANKED, Outcome.DUPLICATE)


@dataclass(frozen=True, slots=True)
class Search:
    """What is searched and how it is judged.

    space: None for one made from the kernel's axes. unmeasured: whether the modelled best is taken as it is. base: what
    the schedule of every candidate starts from, as text.
    """

    space: TilingSearchSpace | None
    most: int
    unmeasured: bool
    metric: Metric
    measuring: MeasureOptions
    prune: Callable[..., Any] | None = None
    model: Callable[..., Any] | None = None
    top_k: int | float | None = None
    base: str = ""

    def measuring_identity(self) -> dict[str, Any]:
        """Return what the times of a candidate depend on besides the candidate, as JSON-able data."""
        options = self.measuring
        return {
            "method": options.method,
            "cold": options.cold,
            "runs": [options.warmup_runs, options.measure_runs, options.warmup_seconds, options.measure_seconds],
            "functions": _digests(options.do_bench, options.pre_hook, options.post_hook),
            "reset": sorted(options.reset_to_zero),
            "restore": sorted(options.restore_value),
        }

    def name(self) -> str:
        """Return the name of the search: everything that decides which candidate is chosen."""
        return search_key(
            {
                "space": None if self.space is None else _described(self.space),
                "most": self.most,
                "unmeasured": self.unmeasured,
                "metric": self.metric,
                "functions": _digests(self.prune, self.model),
                "top_k": self.top_k,
                "base": self.base,
                "budget": self.measuring.time_budget,
                "measuring": self.measuring_identity(),
            }
        )


def _digests(*functions: Callable[..., Any] | None) -> list[str | None]:
    return [None if item is None else code_digest(item) for item in functions]


def _described(space: TilingSearchSpace) -> Any:
    from pypto.config_list import ConfigList

    axes = [[name, repr(axis.values), repr(axis.conditions)] for name, axis in space.axes.items()]
    axes += [["configs", repr(space.configs), ""]] if isinstance(space, ConfigList) else []
    return [axes, dict(space.constraint_memory), _digests(*space.predicates)]


def default_store() -> TuningStore | None:
    """Return the store in the cache folder of the settings; None when that is off."""
    folder = current().cache
    return None if folder == "off" else TuningStore(Path(folder) / FILE_NAME)


@dataclass(slots=True)
class Session:
    """One tuning of one case. `store` is None where nothing is kept; `generated` is the code of the untuned kernel."""

    case: TuningCase
    search: Search
    store: TuningStore | None
    report: Reporter
    key: SubjectKey
    notes: list[str] = field(default_factory=list)

    @property
    def subject(self) -> str:
        return self.key.digest()

    def run(self) -> TuningResult:
        """Return what is known, or tune: alone among all processes that would tune the same."""
        found = self.known()
        if found is not None:
            return found
        with self._alone() as folder:
            return self.known() or self._tune(folder)

    # -- what is known

    def known(self) -> TuningResult | None:
        """Return the choice of an earlier run of this search, or None."""
        if self.store is None:
            return None
        item = self.store.read("choices", self.subject).get(self.search.name())
        if item is not None:
            with contextlib.suppress(ValueError):
                found = result_from_json(item)
                self._repair(found)
                return found
        return self._known_by_folder()

    def _folder(self) -> ArtefactFolder | None:
        if self.store is None:
            return None
        name = digest([self.subject, self.search.name()])
        return ArtefactFolder.under(artefact_root(self.store.path), self.case.name, name)

    def _repair(self, found: TuningResult) -> None:
        """Write ``optimize_tiling`` again when it alone is missing or damaged."""
        folder = self._folder()
        if folder is None or not folder.path.is_dir() or folder.load_optimum() == found.candidate.key():
            return
        if found.candidate.key() in folder.binaries():
            with self._writing():
                folder.save_optimum(found.candidate)

    def _known_by_folder(self) -> TuningResult | None:
        """Return the winner that ``optimize_tiling`` names, where the database was lost, and enter it again."""
        folder = self._folder()
        winner = folder.load_optimum() if folder is not None else None
        if folder is None or winner is None:
            return None
        try:
            trial = trial_from_json(folder.binaries()[winner].about)
        except (ValueError, TypeError, KeyError):
            return None
        found = replace(self._result(trial, (trial,)), from_cache=True)
        self._save_choice(found)
        return found

    @contextlib.contextmanager
    def _alone(self) -> Iterator[ArtefactFolder]:
        """Yield the folder for binaries, whose lock is held; a private one where that cannot be had."""
        with contextlib.ExitStack() as stack:
            folder = self._folder()
            if folder is not None:
                try:
                    stack.enter_context(folder.tuning(LOCK_SECONDS))
                except LockTimeout as error:
                    warn_once(f"{self.case.name} is tuned without waiting any longer: {error}")
                except OSError as error:
                    self._unused(error)
                else:
                    yield folder
                    return
            yield ArtefactFolder(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="pypto-tuning-"))))

    # -- finding out

    def _tune(self, folder: ArtefactFolder) -> TuningResult:
        from pypto.runtime.tuning.workers import compile_processes, start_workers

        start_workers(min(compile_processes(), self.search.most))  # they are ready when the candidates are ranked
        ranked, cut = self._ranked()
        if self.search.unmeasured or self.case.target == "ascendc":
            return self._by_model(ranked, cut, folder)
        before = self._measured_before()
        known = [_known_as(c, before[c.key()]) for c in ranked if c.key() in before]
        built, failed = self._compile([c for c in ranked if c.key() not in before], folder)
        tried = [*known, *failed, *self._measure(built)]
        winner, tried = self._chosen(tried, built)
        if winner.candidate.key() not in {item.candidate.key() for item in built}:  # measured by another search
            built = [*built, *self._compile([winner.candidate], folder)[0]]
        result = self._result(winner, (*tried, *cut))
        self._keep(result, folder, built)
        return result

    def _ranked(self) -> tuple[tuple[Candidate, ...], list[Trial]]:
        """Return the candidates to try, the modelled best first, and rows for all others."""
        from pypto.tuning_candidates import candidates_of, ranked

        found = candidates_of(self.case, self.search.space)
        self.notes += found.notes
        tried, cut = ranked(self.case, self.search, found.usable)
        for trial in (*cut, *found.rejected):
            self.report.trial(trial)
        return tried, [*cut, *found.rejected]

    def _measured_before(self) -> dict[str, Trial]:
        """Return what is known of candidates from other searches and from processes that were killed, by key."""
        found: dict[str, Trial] = {}
        if self.store is not None:
            for key, item in self.store.read("timings", self._timings()).items():
                with contextlib.suppress(ValueError):
                    found[key] = trial_from_json(item)
        return {key: trial for key, trial in found.items() if trial.candidate.key() == key}

    def _timings(self) -> str:
        return timing_key(self.key, self.search.measuring_identity())

    def _compile(
        self, candidates: Sequence[Candidate], folder: ArtefactFolder
    ) -> tuple[list[CompiledCandidate], list[Trial]]:
        from pypto.runtime.tuning.workers import compile_candidates, compile_processes

        jobs = [self._job(item, folder) for item in candidates]
        self.report.begin("compiling", len(jobs))
        made = compile_candidates(jobs, COMPILE_SECONDS, compile_processes(), self._compiled)
        built = [item for item in made if isinstance(item, CompiledCandidate)]
        return built, [item for item in made if isinstance(item, Trial)]

    def _job(self, candidate: Candidate, folder: ArtefactFolder) -> CompileJob:
        module = self.case.module
        if not candidate.is_default:
            module = with_schedule(module, candidate.schedule)
        where = folder.kernel_folder(candidate.key())
        return CompileJob(
            candidate, print_module(module), self.case.layouts, self.case.target, self.case.machine(), where
        )

    def _compiled(self, made: CompiledCandidate | Trial) -> None:
        self.report.advance("compiling")
        if isinstance(made, Trial):
            self._learned(made)

    def _learned(self, trial: Trial) -> None:
        """Keep what became of a candidate at once: a process that is killed later loses nothing."""
        self.report.trial(trial)
        if trial.outcome is Outcome.WRONG_RESULT:
            what = f"{self.case.name}: candidate {trial.candidate.describe()} is rejected, its result is wrong"
            warn_once(f"{what}: {trial.reason}")
        if self.store is not None and trial.outcome in _KEPT and not trial.cut_short:
            row = Row("timings", self._timings(), trial.candidate.key(), trial_to_json(trial))
            self.store.write([row, self._subject_row()])

    def _subject_row(self) -> Row:
        shapes = {name: list(shape) for name, shape in self.case.shapes.items()}
        about = {"kernel": self.case.name, "shapes": shapes, "target": self.case.target, "timings": self._timings()}
        return Row("subjects", self.subject, self.search.name(), {**about, "key": asdict(self.key)})

    def _measure(self, built: Sequence[CompiledCandidate]) -> list[Trial]:
        from pypto.runtime.tuning.measuring.measure import measure

        if not built:
            return []
        self.report.begin("measuring", len(built))

        def reached(share: float, best: float | None) -> None:
            self.report.reach("measuring", share, best)

        try:
            expected = self.case.expected(self.search.measuring.reset_to_zero)
            trials = measure(built, self.case.inputs(), expected, self.search.measuring, self._learned, reached)
            self.report.reach("measuring", 1.0, None)
            return trials
        except (OSError, MemoryError) as error:
            reason = f"measuring is not possible here: {error}"
            return [Trial(item.candidate, Outcome.NOT_MEASURED, reason) for item in built]

    # -- choosing

    def _chosen(self, tried: list[Trial], built: Sequence[CompiledCandidate]) -> tuple[Trial, list[Trial]]:
        """Return the winner, of the measured ones the best, else the untuned kernel; and all rows, as confirmed."""
        from pypto.runtime.tuning.selection import NothingMeasured, select

        fresh = {item.candidate.key(): item for item in built}
        known = {trial.candidate.key(): trial for trial in tried}

        def again(candidates: Sequence[Candidate]) -> list[Trial]:
            """Measure again what was measured now; what is kept from before is never measured again."""
            keys = [item.key() for item in candidates]
            new = self._measure([fresh[key] for key in keys if key in fresh])
            return [*new, *(known[key] for key in keys if key not in fresh)]

        try:
            found = select(tried, again, self.search.metric, self.case.work())
        except NothingMeasured:
            return self._fallback(tried), tried
        self.notes += [found.note] if found.note else []
        known |= {trial.candidate.key(): trial for trial in found.confirmed}
        return found.winner, list(known.values())

    def _fallback(self, tried: Sequence[Trial]) -> Trial:
        """Return the untuned kernel, unmeasured, where nothing is known to be wrong with it.

        Raises UserError ``untuned-fails`` for one that would give wrong results, hang or crash, and ``no-candidate``
        where there is none.
        """
        fallback = next((trial for trial in tried if trial.candidate.is_default), None)
        if fallback is None:
            reasons = "; ".join(f"{trial.candidate.describe()}: {trial.reason}" for trial in tried)
            raise UserError("no-candidate", None, count=len(tried), kernel=self.case.name, reasons=reasons)
        if fallback.outcome in _UNSAFE:
            raise UserError(
                "untuned-fails", None, kernel=self.case.name, how=_UNSAFE[fallback.outcome], why=fallback.reason
            )
        self.notes.append(f"nothing could be measured, so this is the untuned kernel: {fallback.reason}")
        warn_once(f"{self.case.name} is not tuned: {fallback.reason}")
        return fallback

    def _by_model(self, ranked: Sequence[Candidate], cut: Sequence[Trial], folder: ArtefactFolder) -> TuningResult:
        """Return the modelled best that compiles and, unless one candidate is taken unmeasured, gives right results.

        The others need not be looked at: nothing that could be measured here would change their order.
        """
        alone = self.search.unmeasured
        self.notes.append(_UNMEASURED if alone else "nothing on this machine can time the target: the model decides")
        rows: list[Trial] = []
        for number, candidate in enumerate(ranked):
            row, built = self._try(candidate, folder)
            if row.seconds is not None or (alone and built):
                others = [self._modelled(item, "the model puts it after the winner") for item in ranked[number + 1 :]]
                result = self._result(row, (*rows, row, *others, *cut))
                self._keep(result, folder, built)
                return result
            rows.append(row)
        return self._result(self._fallback(rows), (*rows, *cut))

    def _try(self, candidate: Candidate, folder: ArtefactFolder) -> tuple[Trial, list[CompiledCandidate]]:
        """Return what becomes of one candidate, compiled and (unless it is taken unmeasured) checked; its binary."""
        built, failed = self._compile([candidate], folder)
        if failed:
            return failed[0], []
        if self.search.unmeasured:
            return self._modelled(candidate, _UNMEASURED), built
        return self._measure(built)[0], built

    def _modelled(self, candidate: Candidate, why: str) -> Trial:
        return Trial(candidate, Outcome.NOT_MEASURED, why, source=f"modelled:{self.case.target}")

    def _result(self, winner: Trial, trials: Sequence[Trial]) -> TuningResult:
        best = winner.candidate.key()
        ordered = sorted(
            trials, key=lambda item: (item.candidate.key() != best, item.seconds is None, item.seconds or 0.0)
        )
        return TuningResult(
            self.case.name,
            self.case.target,
            winner,
            tuple(ordered),
            self.case.problem(),
            self.search.metric,
            "; ".join(self.notes),
            shapes=self.case.shapes,
        )

    # -- keeping

    def _keep(self, result: TuningResult, folder: ArtefactFolder, built: Sequence[CompiledCandidate]) -> None:
        """Keep the choice, and the binaries where the folder is one that stays."""
        if current().dump:
            from pypto.tuning_dump import dump_tuning

            dump_tuning(Path(current().dump), self.case, result, built)
        if self.store is None:
            return
        if result.seconds is None and not self.search.unmeasured:
            return  # nothing was found out
        self._save_choice(result)
        if folder != self._folder():
            return
        about = {trial.candidate.key(): trial_to_json(trial) for trial in result.trials}
        with self._writing():
            folder.save_source(print_module(self.case.module))
            folder.record((item.candidate, item.digests, about[item.candidate.key()]) for item in built)
            if result.candidate.key() in folder.binaries():
                folder.save_optimum(result.candidate)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._unused(error)

    def _unused(self, error: OSError) -> None:
        """Say that nothing can be kept, unless that was said before."""
        assert self.store is not None
        warn_unused(self.store.path, error)

    def _save_choice(self, result: TuningResult) -> None:
        """Keep the choice with what was tried; what was not says little later, and would be long to read."""
        assert self.store is not None
        tried = [item for item in result.trials if item.outcome not in _NOT_TRIED or item == result.winner]
        value = result_to_json(replace(result, trials=tuple(tried)))
        choice = Row("choices", self.subject, self.search.name(), value)
        self.store.write([choice, self._subject_row()])


def _known_as(candidate: Candidate, trial: Trial) -> Trial:
    """Return what is known of a candidate; a time that is the model's is what the model says today."""
    seconds = candidate.predicted if trial.method == "model" and trial.seconds is not None else trial.seconds
    return replace(trial, candidate=candidate, seconds=seconds)
