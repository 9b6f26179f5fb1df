"""Chat templates: what they render, what they may not do, and the ids they become."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from localspec.engine import Model
from localspec.engine.template import ChatTemplate, TemplateRefused, without_system
from localspec.errors import PairRefused
from tests.models import BOS, CHATML, IM_END, IM_START, write_llama

USER = {"role": "user", "content": "hi"}
SYSTEM = {"role": "system", "content": "be brief"}
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
)

HOSTILE = {
    "huge range": "{% for i in range(10**9) %}x{% endfor %}",
    "endless loops": "{% for i in range(9**5) %}{% for j in range(9**5) %}{% endfor %}{% endfor %}",
    "endless recursion": "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "huge string": "{{ 'a' * 10**10 }}",
    "doubling string": (
        "{% set n = namespace(x='aaaa') %}"
        "{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}"
    ),
    "doubling list": (
        "{% set n = namespace(x=[1]) %}"
        "{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}"
    ),
    "huge number": "{{ 9 ** (9 ** 9) }}",
    "huge padding": "{{ 'x' | center(10**11) }}",
    "huge format": "{{ '%9999999999d' % 1 }}",
    "long but legal": "{{ 'a' * (17 * 2**20) }}",
    "class walk": "{{ ''.__class__.__mro__ }}",
    "globals walk": "{{ cycler.__init__.__globals__ }}",
    "huge format method": "{{ '{:99999999999}'.format(1) }}",
    "change the messages": "{{ messages.append(1) }}",
    "read a file": "{% include '/etc/hostname' %}",
    "broken syntax": "{% if %}",
    "undefined": "{{ nothing.at.all }}",
    "division": "{{ 1 / 0 }}",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_one_clear_error(name: str) -> None:
    """A sandbox, a memory limit and a deadline, in a process of its own."""
    with (
        ChatTemplate(HOSTILE[name], deadline_s=2) as template,
        pytest.raises(PairRefused) as caught,
    ):
        template.render([USER])
    assert caught.value.message.startswith("the chat template ")
    assert "\n" not in caught.value.message
    assert caught.value.hint == "give another file of this model"


def test_a_format_string_cannot_reach_a_class() -> None:
    with ChatTemplate("[{{ '{0.__class__}'.format(1) }}]") as template:
        assert template.render([USER]) == "[]"


def test_after_a_deadline_the_next_render_works() -> None:
    source = "{% if messages|length > 1 %}{% for i in range(9**5) %}{% for j in range(9**5) %}"
    source += "{% endfor %}{% endfor %}{% endif %}{{ messages[0].content }}"
    with ChatTemplate(source, deadline_s=1) as template:
        with pytest.raises(PairRefused, match="did not finish"):
            template.render([USER, USER])
        assert template.render([USER]) == "hi"


def test_a_template_source_that_is_too_large_is_refused() -> None:
    with pytest.raises(PairRefused, match="characters"):
        ChatTemplate("x" * (256 * 1024 + 1))


@pytest.fixture
def chatml() -> Iterator[ChatTemplate]:
    with ChatTemplate(CHATML) as template:
        yield template


def test_chatml_is_rendered_as_the_model_expects(chatml: ChatTemplate) -> None:
    assert chatml.render([SYSTEM, USER]) == (
        "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert chatml.render([USER], add_generation_prompt=False).endswith("<|im_end|>\n")


@pytest.mark.parametrize(
    "text", ["{{ 7*7 }}", "a\nb\r\n", "ığ 模型 👨‍👩‍👧", "\u2028", "\ud800", "<b>&amp;"]
)
def test_the_users_text_is_data_and_arrives_unchanged(chatml: ChatTemplate, text: str) -> None:
    assert f"user\n{text}<|im_end|>" in chatml.render([{"role": "user", "content": text}])


def test_blocks_are_trimmed_as_templates_expect() -> None:
    source = (
        "{% for m in messages %}\n    {% if true %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}"
    )
    with ChatTemplate(source) as template:
        assert template.render([USER]) == "hi\n"


def test_what_real_templates_use_is_there() -> None:
    source = (
        "{{ bos_token }}{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}"
        "{{ m | tojson }}{% endfor %}{{ strftime_now('%Y') | length }}{{ eos_token }}"
        "{% generation %}!{% endgeneration %}{% if tools is not none %}tools{% endif %}"
    )
    with ChatTemplate(source, bos="<s>", eos="</s>") as template:
        messages = [USER, {"role": "user", "content": "é<"}]
        assert template.render(messages) == '<s>{"role": "user", "content": "é<"}4</s>!'


def test_a_template_that_refuses_the_system_role_gets_it_with_the_first_message() -> None:
    with ChatTemplate(NO_SYSTEM) as template:
        assert template.render([SYSTEM, USER]) == "[user]be brief\n\nhi"
        assert template.render([USER]) == "[user]hi"


def test_a_refusal_that_merging_cannot_mend_is_shown() -> None:
    with (
        ChatTemplate("{{ raise_exception('roles must alternate') }}") as template,
        pytest.raises(TemplateRefused, match="roles must alternate"),
    ):
        template.render([SYSTEM, USER])


def test_system_messages_move_only_before_a_user_message() -> None:
    assert without_system([SYSTEM]) == [SYSTEM]
    assistant = {"role": "assistant", "content": "x"}
    assert without_system([SYSTEM, assistant]) == [SYSTEM, assistant]


def test_many_messages_fit_through_the_pipe(chatml: ChatTemplate) -> None:
    messages = [{"role": "user", "content": "x" * 10_000} for _ in range(200)]
    assert len(chatml.render(messages)) > 2_000_000


@pytest.mark.parametrize("writes_bos", [True, False])
@pytest.mark.parametrize("add_bos", [True, False])
def test_prompt_ids_have_the_bos_the_header_asks_for(
    tmp_path: Path, add_bos: bool, writes_bos: bool
) -> None:
    """A17: four golden lists."""
    source = ("{{ bos_token }}" if writes_bos else "") + CHATML
    path = write_llama(tmp_path / "m.gguf", add_bos=add_bos, template=source)
    with Model.load(path) as model:
        template = ChatTemplate.of(model)
        assert template is not None
        with template:
            ids = template.prompt_ids(model.vocabulary, [USER])
        body = model.vocabulary.tokenize(
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", special=True, bos=False
        )
    assert body[0] == IM_START
    assert body.count(IM_END) == 1
    assert ids == ([BOS] if add_bos or writes_bos else []) + body


def test_a_model_without_template_has_none(tmp_path: Path) -> None:
    with Model.load(write_llama(tmp_path / "m.gguf", template=None)) as model:
        assert ChatTemplate.of(model) is None


def test_smollms_own_template_renders(smollm_model: Model) -> None:
    template = ChatTemplate.of(smollm_model)
    assert template is not None
    with template:
        text = template.render([USER])
    assert text.endswith("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")


def test_closing_ends_the_process_and_may_be_done_twice(chatml: ChatTemplate) -> None:
    chatml.render([USER])
    process = chatml._process
    assert process is not None
    chatml.close()
    chatml.close()
    assert process.poll() is not None
    assert chatml.render([USER])


def test_a_forgotten_template_ends_its_process() -> None:
    template = ChatTemplate(CHATML)
    template.render([USER])
    process = template._process
    assert process is not None
    del template
    assert process.poll() is not None
